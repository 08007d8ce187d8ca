"""The pages of the gates over a real database: who sees what, who changes what, and what becomes of it."""

import asyncio
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from prometheus_client import REGISTRY

from contracts import messages as m
from services.guardrails import looking
from services.guardrails.facts import PromiseTable
from services.guardrails.http import LONGEST_FORM_BYTES
from services.guardrails.rules import Rules
from services.guardrails.web import asking, forms
from tests.guardrails.pages import ADA, ANA, LEAK, OTHER_TENANT, OTTO, PEOPLE, VERA, Browser, House, open_house, token
from tests.guardrails.world import CHANNEL, CONTACT, NOW, TENANT, only, proposed, received
from tests.harness import BenchFactory

RULES = Rules(promise_table=PromiseTable(version=1, price_floor_cents=5000, instalments_ceiling=6))


@pytest.fixture
async def house(bench_of: BenchFactory) -> House:
    return await open_house(bench_of, RULES)


async def in_force(house: House) -> looking.Version:
    async with house.bench.web_db.transaction(TENANT) as tx:
        return await looking.rules_in_force(tx)


async def saving(browser: Browser, *, base: str = "1", reason: str = "Campaign", **changed: str) -> Any:
    fields = forms.written(RULES) | changed
    return await browser.post("/gates/rules", base=base, reason=reason, **fields)


# ----------------------------------------------------------------------------------------------------------- the way in


@pytest.mark.parametrize("path", ["/gates", "/gates/runs", "/gates/rules", "/gates/contacts", "/gates/disputes"])
async def test_nobody_sees_a_page_before_signing_in(house: House, path: str) -> None:
    async with house.browser() as nobody:
        answer = await nobody.get(path, day="2026-01-01")
    assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in")
    assert "2026-01-01" in answer.headers["location"]


async def test_a_person_without_a_role_sees_nothing(house: House) -> None:
    async with house.browser("nina@example.com") as nina:
        assert 'data-code="no_right_read"' in await nina.text("/gates", 403)


async def test_who_signs_out_is_out(house: House) -> None:
    async with house.browser(ADA) as ada:
        assert (await ada.post("/sign-out")).headers["location"] == "/sign-in"
        assert (await ada.get("/gates")).status_code == 303


async def test_pages_carry_no_inline_code_and_may_not_be_framed_or_kept(house: House) -> None:
    async with house.browser(ADA) as ada:
        for path in ("/gates", "/gates/runs", "/gates/rules", "/gates/contacts", "/gates/changes", "/gates/x"):
            answer = await ada.get(path)
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self'; style-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["cache-control"] == "no-store"
            assert not re.search(r"<script(?! type=\"module\" src)|<style|\son\w+=|\sstyle=", answer.text)


# --------------------------------------------------------------------------------------------------- chain and verdicts


async def test_the_chain_is_shown_in_order_with_its_version_and_what_a_missing_fact_does(house: House) -> None:
    async with house.browser(VERA) as vera:
        page = await vera.text("/gates")
    names = [
        "stop", "lgpd", "pacing", "service_window", "spinning", "promise", "semantic_promise", "case_promise",
        "internal_vocabulary", "disclosure",
    ]  # fmt: skip
    chain = page.split('data-semantic-id="chain"')[1]
    assert re.findall(r'data-gate="(\w+)"', chain) == names
    assert "version 1" in chain
    assert re.search(r'<code title="[0-9a-f]{64}">', chain)
    assert chain.count("lets it pass, with a warning") == 2


async def test_the_vetoes_of_a_day_are_counted_by_gate_and_code(house: House) -> None:
    await house.judged("Abrimos das 8h às 18h.", LEAK, LEAK + " De novo.", "Fica por R$ 10,00.")
    async with house.browser(VERA) as vera:
        page = await vera.text("/gates")
        long_ago = await vera.text("/gates", day="2001-01-01")
    vetoes = page.split('data-semantic-id="chain"')[0]
    assert '<b data-count="vetoed">3</b>' in vetoes
    assert '<b data-count="cleared">1</b>' in vetoes
    rows = re.findall(r'<tr data-gate="(\w+)">.*?>(\d+)</a>', vetoes, re.DOTALL)
    assert rows == [("internal_vocabulary", "2"), ("promise", "1")]
    assert "No veto on this day." in long_ago


async def test_a_run_tells_everything_and_marks_what_a_gate_found_where_it_stands(house: House) -> None:
    body = "😀 <b>Rodei</b> search_knowledge &amp; parei."
    (run_id,) = await house.judged(body)
    async with house.browser(VERA) as vera:
        page = await vera.text(f"/gates/runs/{run_id}")
    shown = re.search(r'data-semantic-id="run.body">(.*?)</div>', page, re.DOTALL)
    assert shown
    marked = re.findall(r"<mark[^>]*>([^<]*)</mark>", shown[1])
    assert marked == ["&lt;b&gt;", "&lt;/b&gt;", "search_knowledge"]
    assert "</mark>Rodei<mark" in shown[1]
    assert "&amp;amp; parei." in shown[1]
    assert len(re.findall(r'data-verdict="\w+"', page)) == 10
    assert 'data-gate="internal_vocabulary" data-verdict="veto"' in page
    assert "Asked of the agent" in page
    assert "the allowed terms" in page
    facts = page.split('data-semantic-id="facts"')[1]
    assert "hours of outreach: 08:00-20:00" in facts
    assert "blocked: no" in facts
    assert "lowest price, in cents: 5000" in facts


async def test_a_text_that_a_gate_changed_is_shown_as_it_was_judged(bench_of: BenchFactory) -> None:
    house = await open_house(bench_of, Rules(disclosures={"pt-BR": "Aqui é a assistente virtual."}))  # pyright: ignore[reportArgumentType] - StrEnum keys
    async with house.bench.db.transaction() as tx:
        await tx.execute("update contact set first_sent_at = null")
    (run_id,) = await house.judged("Abrimos às 8h.")
    async with house.browser(VERA) as vera:
        page = await vera.text(f"/gates/runs/{run_id}")
    assert "Aqui é a assistente virtual.\n\nAbrimos às 8h." in page
    assert "with the disclosure added" in page


async def test_hidden_characters_of_a_text_are_shown(house: House) -> None:
    (run_id,) = await house.judged("Abrimos\u202e às 8h.")
    async with house.browser(VERA) as vera:
        assert ">U+202E</span>" in await vera.text(f"/gates/runs/{run_id}")


async def test_runs_are_narrowed_by_gate_code_outcome_and_day(house: House) -> None:
    clean, leaked = await house.judged("Abrimos das 8h às 18h.", LEAK)
    async with house.browser(VERA) as vera:

        async def found(**asked: str) -> set[UUID]:
            page = (await vera.get("/gates/runs", **asked)).text
            return {UUID(one) for one in re.findall(r'href="/gates/runs/([0-9a-f-]{36})"', page)}

        assert await found() == {clean, leaked}
        assert await found(gate="internal_vocabulary") == {leaked}
        assert await found(code="internal_vocabulary_leak", outcome="vetoed") == {leaked}
        assert await found(outcome="cleared", phase="filing") == {clean}
        assert await found(phase="dispatch") == set()
        today = datetime.now(NOW.tzinfo).date()
        assert await found(day=today.isoformat()) == {clean, leaked}
        assert await found(day=(today - timedelta(days=1)).isoformat()) == set()
        assert await found(gate="none\0such") == set()
        refused = await vera.get("/gates/runs", day="someday")
    assert (refused.status_code, 'value="someday"' in refused.text, "day-fault" in refused.text) == (422, True, True)


async def test_every_run_is_on_one_page_and_on_one_only(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where many have the same time."""
    async with house.bench.db.transaction() as tx:
        await tx.many(
            """insert into run (run_id, tenant, draft_id, conversation_id, phase, outcome, verdicts, facts_digest,
                 chain_version, chain_hash, at) values ($1, $2, $1, $1, 'filing', 'cleared', '[]', '', 1, '', $3)""",
            [(uuid4(), TENANT, NOW - timedelta(seconds=n // 3)) for n in range(2 * asking.PAGE + 7)],
        )
    seen: list[str] = []
    async with house.browser(VERA) as vera:
        path = "/gates/runs"
        while path:
            page = await vera.text(path)
            seen += re.findall(r'<li><a href="/gates/runs/([0-9a-f-]{36})"', page)
            more = re.search(r'rel="next" href="([^"]+)"', page)
            path = more[1].replace("&amp;", "&") if more else ""
    assert len(seen) == len(set(seen)) == 2 * asking.PAGE + 7


@pytest.mark.parametrize("path", ["/gates/runs/x", f"/gates/runs/{UUID(int=7)}", "/gates/rules/0", "/gates/rules/77"])
async def test_what_does_not_exist_is_said_to_be_missing(house: House, path: str) -> None:
    async with house.browser(ADA) as ada:
        await ada.text(path, 404)


# ---------------------------------------------------------------------------------------------------------------- rules


async def test_a_saved_version_is_what_the_next_text_is_judged_by(house: House) -> None:
    text = "O search_knowledge diz R$ 30,00?"
    await house.bench.hear(proposed(text))
    assert only(await house.bench.said(), m.DraftVetoed).code == "promise_out_of_table"
    async with house.browser(ADA) as ada:
        answer = await saving(ada, price_floor="20,00", allowed_terms="search_knowledge")
        assert (answer.status_code, answer.headers["location"]) == (303, "/gates/rules?saved=2")
        page = await ada.text("/gates/rules")
        version = await ada.text("/gates/rules/2")
        changes = await ada.text("/gates/changes")
    assert "version 2 in force" in page
    assert ADA in page
    assert "Campaign" in page
    assert re.findall(r"<dt>([^<]+)</dt><dd[^>]*>(?=[^/]*<(?:ins|del)>)", version) == ["Lowest price", "Allowed terms"]
    assert "saved rules" in changes
    now = (await in_force(house)).rules
    assert now.promise_table is not None
    assert (now.promise_table.version, now.promise_table.price_floor_cents) == (2, 2000)
    await house.bench.hear(proposed(text))
    only(await house.bench.said(), m.DraftCleared)


async def test_who_saves_after_somebody_else_is_told_and_overwrites_nothing(house: House) -> None:
    async with house.browser(ADA) as first, house.browser(ADA) as second:
        assert (await saving(first, price_floor="60", reason="First")).status_code == 303
        refused = await saving(second, price_floor="70", reason="Second")
        assert refused.status_code == 409
        assert 'data-semantic-id="saved-since"' in refused.text
        assert "First" in refused.text
        assert 'name="price_floor" type="text" value="70"' in refused.text
        assert 'name="reason" value="Second"' in refused.text
        assert 'name="base" value="2"' in refused.text
        assert (await in_force(house)).reason == "First"
        assert (await saving(second, base="2", price_floor="70", reason="Second")).status_code == 303
    assert (await in_force(house)).reason == "Second"


async def test_of_two_who_save_at_the_same_moment_one_is_told(house: House) -> None:
    async with house.browser(ADA) as first, house.browser(ADA) as second:
        answers = await asyncio.gather(
            saving(first, price_floor="60", reason="A"), saving(second, price_floor="70", reason="B")
        )
    assert sorted(one.status_code for one in answers) == [303, 409]
    assert await house.bench.value("select count(*) from rules") == 2
    assert await house.bench.value("select count(*) from act") == 1


async def test_going_back_makes_a_new_version_with_the_old_content(house: House) -> None:
    async with house.browser(ADA) as ada:
        await saving(ada, price_floor="60")
        answer = await ada.post("/gates/rules/1/restore", base="2", reason="It was right")
        assert answer.headers["location"] == "/gates/rules?saved=3"
        stale = await ada.post("/gates/rules/2/restore", base="2", reason="Too late")
        silent = await ada.post("/gates/rules/2/restore", base="3", reason=" ")
        gone = await ada.post("/gates/rules/9/restore", base="3", reason="x")
    now = await in_force(house)
    assert (now.version, now.repeats, now.author, now.reason) == (3, 1, ADA, "It was right")
    assert forms.written(now.rules) == forms.written(RULES)
    assert (stale.status_code, silent.status_code, gone.status_code) == (409, 422, 404)
    assert 'value="Too late"' in stale.text


FAULTS = {
    "price_floor": "cheap", "discount_percent": "101", "discount_amount": "-1", "instalments": "0",
    "disclosure_pt-BR": "x" * (forms.DISCLOSURE_LIMIT + 1), "allowed_terms": "x" * (forms.LINE_LIMIT + 1),
    "people": "\n".join(str(n) for n in range(forms.LINES_LIMIT + 1)), "reply_opens": "25:00", "outreach_closes": "",
    "reason": "",
}  # fmt: skip


async def test_each_field_that_cannot_be_read_says_so_and_keeps_what_was_typed(house: House) -> None:
    async with house.browser(ADA) as ada:
        answer = await saving(ada, **FAULTS)
    assert answer.status_code == 422
    for name, typed in FAULTS.items():
        assert f'id="{name}-fault"' in answer.text, name
        assert typed.split("\n", maxsplit=1)[0] in answer.text
    assert (await in_force(house)).version == 1


async def test_nothing_new_is_not_a_version(house: House) -> None:
    async with house.browser(ADA) as ada:
        answer = await saving(ada)
    assert (answer.status_code, "Nothing changed" in answer.text) == (422, True)
    assert (await in_force(house)).version == 1


@pytest.mark.parametrize("email", [ANA, VERA])
async def test_who_does_not_administer_changes_no_rules(house: House, email: str) -> None:
    async with house.browser(email) as reader:
        assert "<button" not in (await reader.text("/gates/rules")).split('data-semantic-id="rules"')[1]
        for path in ("/gates/rules", "/gates/rules/1/restore"):
            answer = await reader.post(path, base="1", reason="Mine", price_floor="1")
            assert (answer.status_code, 'data-code="no_right_change"' in answer.text) == (403, True)
            assert "Mine" in answer.text, "what was typed comes back"
    assert (await in_force(house)).version == 1


@pytest.mark.parametrize("sent", [{}, {"csrf": ""}, {"csrf": "x" * 32}])
async def test_a_form_that_no_page_of_this_session_sent_changes_nothing(house: House, sent: dict[str, str]) -> None:
    async with house.browser(ADA) as ada:
        fields = forms.written(RULES) | {"price_floor": "1", "base": "1", "reason": "Forged"}
        answer = await ada.client.post("/gates/rules", data=fields | sent)
    assert (answer.status_code, 'data-code="unconfirmed"' in answer.text) == (403, True)
    assert (await in_force(house)).version == 1


async def test_a_session_that_ended_saves_nothing_and_gives_back_what_was_typed(house: House) -> None:
    async with house.browser(ADA) as ada:
        csrf = token(await ada.text("/gates/rules"))
        async with house.bench.db.transaction() as tx:
            await tx.execute("delete from session")
        answer = await ada.client.post("/gates/rules", data={"csrf": csrf, "base": "1", "reason": "<i>Long</i> words"})
    assert answer.status_code == 401
    assert "&lt;i&gt;Long&lt;/i&gt; words" in answer.text


async def test_a_form_longer_than_a_person_writes_is_not_read(house: House) -> None:
    async with house.browser(ADA) as ada:
        answer = await ada.client.post("/gates/rules", data={"reason": "x" * LONGEST_FORM_BYTES})
    assert answer.status_code == 413


@pytest.mark.parametrize("table", ["rules", "act", "dispute", "consent_history"])
async def test_what_was_written_down_can_neither_be_changed_nor_erased(house: House, table: str) -> None:
    (run_id,) = await house.judged(LEAK)
    await house.bench.hear(received("Parar", revision=2, opt_out="opt_out"))
    async with house.browser(ADA) as ada:
        await saving(ada, price_floor="60")
        await ada.post(f"/gates/runs/{run_id}/disputes", gate="internal_vocabulary", reason="Wrong")
    assert await house.bench.value(f"select count(*) from {table}") > 0
    for statement in (f"delete from {table}", f"update {table} set tenant = tenant"):
        with pytest.raises(asyncpg.RestrictViolationError):
            async with house.bench.db.transaction() as tx:
                await tx.execute(statement)


# -------------------------------------------------------------------------------------------------- disputes, contacts


async def test_a_dispute_is_kept_and_counted_once_and_the_veto_stands(house: House) -> None:
    (run_id,) = await house.judged(LEAK)
    label = {"gate": "internal_vocabulary"}
    before = REGISTRY.get_sample_value("chancela_veto_disputes_total", label)
    assert before is not None
    async with house.browser(ANA) as ana:
        path = f"/gates/runs/{run_id}/disputes"
        empty = await ana.post(path, gate="internal_vocabulary", reason=" ")
        other = await ana.post(path, gate="promise", reason="Not even vetoed")
        answer = await ana.post(path, gate="internal_vocabulary", reason="<script>It is our product's name</script>")
        again = await ana.post(path, gate="internal_vocabulary", reason="Again")
        page = await ana.text(f"/gates/runs/{run_id}")
        listed = await ana.text("/gates/disputes", gate="internal_vocabulary")
        elsewhere = await ana.text("/gates/disputes", gate="promise")
    assert (empty.status_code, other.status_code, answer.status_code, again.status_code) == (422, 422, 303, 409)
    assert "Not even vetoed" in other.text
    for shown in (page, listed):
        assert "&lt;script&gt;It is our product" in shown
    assert "No dispute of this gate." in elsewhere
    assert 'data-outcome="vetoed"' in page
    assert REGISTRY.get_sample_value("chancela_veto_disputes_total", label) == before + 1
    assert await house.bench.value("select count(*) from act where what = 'veto_disputed'") == 1


async def test_who_only_reads_disputes_nothing(house: House) -> None:
    (run_id,) = await house.judged(LEAK)
    async with house.browser(VERA) as vera:
        assert 'data-semantic-id="dispute"' not in await vera.text(f"/gates/runs/{run_id}")
        answer = await vera.post(f"/gates/runs/{run_id}/disputes", gate="internal_vocabulary", reason="x")
    assert answer.status_code == 403
    assert await house.bench.value("select count(*) from dispute") == 0


async def test_the_register_tells_state_since_cause_and_history(house: House) -> None:
    seen = m.ContactSeen(
        tenant=TENANT, contact_id=CONTACT, channel_id=CHANNEL, name="Carla <b>", has_phone=True, is_new=False
    )
    stop = received("Parar", revision=2, opt_out="opt_out")
    back = received("Quero sim", revision=3, opt_out="opt_in")
    again = received("Parar!", revision=4, opt_out="opt_out")
    await house.bench.hear(seen, stop, back, again)
    async with house.browser(VERA) as vera:
        listed = await vera.text("/gates/contacts", state="opted_out", q="carla")
        by_id = await vera.text("/gates/contacts", q=str(CONTACT))
        none = await vera.text("/gates/contacts", state="paused")
        page = await vera.text(f"/gates/contacts/{CONTACT}")
    for shown in (listed, by_id):
        assert f'href="/gates/contacts/{CONTACT}"' in shown
        assert "Carla &lt;b&gt;" in shown
    assert "No contact matches this search." in none
    assert 'data-state="opted_out"' in page
    assert re.findall(r"message <code>([0-9a-f-]+)</code>", page) == [
        str(one.message_id) for one in (again, back, stop)
    ]


async def test_a_wish_that_came_with_a_merged_contact_is_in_the_register(house: House) -> None:
    other = UUID(int=33)
    await house.bench.hear(received("Parar", revision=2, opt_out="opt_out"))
    await house.bench.hear(
        m.ContactSeen(
            tenant=TENANT,
            contact_id=other,
            channel_id=CHANNEL,
            name="Carla",
            has_phone=True,
            is_new=True,
            merged_contact_ids=(CONTACT,),
        )
    )
    async with house.browser(VERA) as vera:
        page = await vera.text(f"/gates/contacts/{other}")
    assert 'data-state="opted_out"' in page
    assert f"merged with the contact <code>{CONTACT}</code>" in page


# -------------------------------------------------------------------------------------------------------------- tenants


async def test_another_tenant_sees_nothing_and_changes_nothing(house: House) -> None:
    (run_id,) = await house.judged(LEAK)
    await house.bench.hear(received("Parar", revision=2, opt_out="opt_out"))
    async with house.browser(ADA) as ada:
        await saving(ada, price_floor="60")
        await ada.post(f"/gates/runs/{run_id}/disputes", gate="internal_vocabulary", reason="Wrong")
    async with house.browser(OTTO) as otto:
        pages = [
            await otto.text(f"/gates{path}") for path in ("", "/runs", "/rules", "/contacts", "/disputes", "/changes")
        ]
        for path in (f"/gates/runs/{run_id}", "/gates/rules/1", f"/gates/contacts/{CONTACT}"):
            await otto.text(path, 404)
        disputed = await otto.post(f"/gates/runs/{run_id}/disputes", gate="internal_vocabulary", reason="x")
        restored = await otto.post("/gates/rules/1/restore", base="0", reason="x")
        saved = await saving(otto, base="0", price_floor="1")
    for page in pages:
        assert not {str(run_id), str(CONTACT), ADA, "search_knowledge"} & set(re.findall(r"[\w@.-]+", page))
    assert (disputed.status_code, restored.status_code, saved.status_code) == (404, 404, 303)
    assert (await in_force(house)).version == 2
    assert await house.bench.value("select version from rules where tenant = $1", OTHER_TENANT) == 1


async def test_the_pages_own_role_sees_no_rows_without_a_tenant(house: House) -> None:
    await house.judged(LEAK)
    async with house.bench.web_db.autocommit() as tx:
        for table in ("run", "rules", "contact", "dispute", "act", "consent_history", "session", "person"):
            assert await tx.value(f"select count(*) from {table}") == 0, table


# ------------------------------------------------------------------------------------------------------------ languages


@pytest.mark.parametrize(("language", "word"), [("pt-BR", "Vereditos"), ("en", "Verdicts"), ("es", "Veredictos")])
async def test_pages_speak_the_readers_language(house: House, language: str, word: str) -> None:
    (run_id,) = await house.judged(LEAK)
    async with house.bench.db.transaction() as tx:
        await tx.execute("update person set language = $1", language)
    async with house.browser(ADA) as ada:
        for path in ("", "/runs", f"/runs/{run_id}", "/rules", "/rules/1", "/contacts", "/disputes", "/changes"):
            page = await ada.text(f"/gates{path}")
            assert f'<html lang="{language}">' in page
            assert word in page


def test_every_person_of_these_tests_has_a_role_that_the_service_knows() -> None:
    assert {role for person in PEOPLE for role in person.roles} == {"administrator", "approver", "viewer"}
