"""The decision screen, worked by keyboard in a real browser over a real database."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, Response, expect

from contracts.messages import SendUncertain
from services.approval.deciding import Decided
from services.approval.web.words import CATALOGUES
from tests.approval.office import ANA, BRUNO, VERA, open_office
from tests.browser.conftest import Shop, serve
from tests.harness import BenchFactory

PAGE_WEIGHT_BYTES = 150_000


async def shows(page: Page, who: str) -> None:
    """The item is on the screen, long enough for its keys to count."""
    await expect(page.locator("#text")).to_have_text(who)
    await page.wait_for_selector("#item[data-settled]")


async def violations(page: Page) -> str:
    """What axe finds, as a report; empty when there is nothing."""
    found = await Axe().run(page)  # pyright: ignore[reportUnknownMemberType] - the package leaves its types open
    return found.generate_report() if found.violations_count else ""


def lines(page: Page) -> Locator:
    return page.locator("#items li:not([data-gone]) .who")


# -------------------------------------------------------------------------------------------------------- deciding


async def test_a_person_decides_by_keyboard_from_sign_in_to_the_next_item(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo te encaixar na sexta às 15h.")
    await shop.drafts("João Ribeiro", "O valor fica em 6x de R$ 180,00.")
    await shop.drafts("Lúcia M.", "Obrigada pelo retorno, Lúcia!")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("j")
    await shows(page, "João Ribeiro")
    await page.keyboard.press("k")
    await shows(page, "Ana P.")
    await page.keyboard.press("j")
    await shows(page, "João Ribeiro")
    await page.keyboard.press("a")
    await expect(page.locator("#text")).to_have_text("Lúcia M.")
    await expect(lines(page)).to_have_text(["Ana P.", "Lúcia M."])
    await expect(page.locator("#items a[aria-current]")).to_be_focused()
    assert (await shop.standing("João Ribeiro")).state == "approved"
    assert (await shop.standing("Ana P.")).state == (await shop.standing("Lúcia M.")).state == "open"


async def test_a_key_meant_for_one_item_never_lands_on_another(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    await shop.drafts("João Ribeiro", "Segundo.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.evaluate("""() => {
        for (const key of ["j", "a"]) document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    }""")
    await expect(page.locator("#text")).to_have_text("João Ribeiro")
    await page.keyboard.press("a")
    await shows(page, "João Ribeiro")
    assert (await shop.standing("Ana P.")).state == (await shop.standing("João Ribeiro")).state == "open"


async def test_a_repeated_or_composing_key_decides_nothing(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page()
    await shows(page, "Ana P.")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.evaluate("""() => {
        for (const how of [{repeat: true}, {isComposing: true}, {ctrlKey: true}, {altKey: true}])
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true, ...how}));
    }""")
    await page.keyboard.press("e")
    await expect(page.locator("#edited")).to_be_focused()
    assert [url for url in asked if url.endswith("/decisions")] == []


async def test_keys_typed_into_a_field_are_only_text(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    await shop.drafts("João Ribeiro", "Segundo.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("b")
    await page.keyboard.type("a rebajjkt")
    await expect(page.locator("#words-of-verb")).to_have_value("a rebajjkt")
    await expect(page.locator("#text")).to_have_text("Ana P.")
    assert (await shop.standing("Ana P.")).state == "open"


async def test_keys_that_were_switched_off_decide_nothing(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("?")
    await page.locator("#keys-on").press("Space")
    await page.keyboard.press("Escape")
    await page.keyboard.press("a")
    await page.keyboard.press("e")
    await expect(page.locator("#edited")).to_be_hidden()
    assert (await shop.standing("Ana P.")).state == "open"
    await page.locator("[data-verb=approve]").click()
    await expect(page.locator("[data-live=badges] [data-state=approved]")).to_be_visible()


async def test_a_text_goes_back_to_the_agent_only_with_an_instruction(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("b")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#live")).to_have_text(CATALOGUES["pt-BR"]["js.needs_words"])
    await page.keyboard.type("Diga o prazo")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("[data-live=badges] [data-state=waiting_agent]")).to_be_visible()
    assert await shop.office.bench.value("select reason from vote") == "Diga o prazo"


async def test_a_text_edited_in_place_is_the_one_approved(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.keyboard.type(" Às 15h.")
    await page.locator("#text").focus()
    await page.keyboard.press("a")
    await expect(page.locator("#answer")).to_contain_text(CATALOGUES["pt-BR"]["js.unsaved"])
    assert (await shop.standing("Ana P.")).state == "open"
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("[data-live=badges] [data-state=approved]")).to_be_visible()
    standing = await shop.standing("Ana P.")
    assert (standing.version.body, standing.epoch, standing.version.author) == ("Consigo na sexta. Às 15h.", 2, ANA)


async def test_a_text_over_the_channel_s_limit_is_not_sent(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Curto.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.locator("#edited").fill("x" * 4097)
    await expect(page.locator("#edit-length[data-over]")).to_have_text("4097 de 4096")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#live")).to_contain_text("4097")
    assert (await shop.standing("Ana P.")).epoch == 1


async def test_taking_over_silences_the_agent(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("t")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("[data-code=taken_over]")).to_be_visible()
    owner = await shop.office.bench.value(
        "select owner_person from conversation where id = $1", shop.talks["Ana P."][0]
    )
    assert owner == ANA
    await page.wait_for_selector("#item[data-settled]")
    await page.keyboard.press("t")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("[data-verb=take_over]")).to_be_visible()


# ------------------------------------------------------------------------------------------------------------ live


async def test_an_update_never_touches_what_is_being_typed(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.keyboard.type(" Às 15h")
    for _ in range(3):
        await page.keyboard.press("ArrowLeft")
    await shop.says("Ana P.", "Pode ser sábado?", revision=2)
    await expect(page.locator(".chat")).to_contain_text("Pode ser sábado?")
    await expect(page.locator("[data-code=wrote]")).to_be_visible()
    await page.keyboard.type("*")
    await expect(page.locator("#edited")).to_have_value("Consigo na sexta. Às *15h")
    await expect(page.locator("#edited")).to_be_focused()


async def test_a_message_that_came_while_looking_must_be_read_before_the_yes(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await shop.says("Ana P.", "Mudei de ideia", revision=2)
    await expect(page.locator("[data-code=wrote]")).to_be_visible()
    await page.keyboard.press("a")
    await expect(page.locator("#answer")).to_contain_text(CATALOGUES["pt-BR"]["js.todo.context-changed"])
    assert (await shop.standing("Ana P.")).state == "open"
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-live=badges] [data-state=approved]")).to_be_visible()


async def test_a_text_that_changed_is_not_approved_unread(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na quinta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.keyboard.type(" Às 9h.")
    await shop.drafts("Ana P.", "Consigo na sexta.")
    await expect(page.locator("[data-code=changed]")).to_be_visible()
    await expect(page.locator("#edited")).to_have_value("Consigo na quinta. Às 9h.")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("#answer")).to_contain_text(CATALOGUES["pt-BR"]["js.todo.stale-revision"])
    assert (await shop.standing("Ana P.")).state == "open"
    await page.locator("#answer button").press("Enter")
    await expect(page.locator("[data-semantic-id='item.body']")).to_have_text("Consigo na sexta.")
    await expect(page.locator(".diffs")).to_be_visible()
    await expect(page.locator("#edited")).to_have_value("Consigo na quinta. Às 9h.")
    await expect(page.locator("[data-behind]")).to_be_visible()


async def test_of_two_people_who_decide_the_second_learns_who_was_first(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    first, second = await shop.page(ANA), await shop.page(BRUNO)
    await shows(first, "Ana P.")
    await shows(second, "Ana P.")
    await second.route("**/v1/events", lambda route: route.abort())
    await second.route("**/parts/**", lambda route: route.abort())
    await first.keyboard.press("a")
    await expect(first.locator("[data-live=badges] [data-state=approved]")).to_be_visible()
    await second.evaluate("document.querySelector('[data-verb=approve]').disabled = false")
    await second.evaluate("document.querySelector('[data-verb=approve]').click()")
    await expect(second.locator("#answer")).to_contain_text(ANA)
    assert await shop.office.bench.value("select count(*) from vote") == 1


async def test_what_others_decide_is_seen_at_once(shop: Shop) -> None:
    filed = await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page()
    await shows(page, "Ana P.")
    decided = await shop.office.decide(filed, by=BRUNO)
    assert isinstance(decided, Decided)
    assert decided.decision_id
    await expect(page.locator("[data-code=decided]")).to_contain_text(BRUNO)
    await expect(page.locator("[data-verb=approve]")).to_have_count(0)
    await expect(lines(page)).to_have_count(0)
    shop.office.conversation = shop.talks["Ana P."][0]
    now = await shop.standing("Ana P.")
    sent = shop.office.send(SendUncertain, now, decided.decision_id, code="timeout", detail="")
    await shop.office.bench.hear(sent)
    await expect(page.locator("[data-live=badges] [data-state=uncertain]")).to_have_text("aprovado")
    await expect(page.locator("[data-live=badges] [data-delivery=uncertain]")).to_have_text("incerto")
    await page.locator("[data-do=acknowledge]").press("Enter")
    await expect(page.locator("[data-alert]")).to_have_count(0)


async def test_the_list_stands_still_under_the_pointer(shop: Shop) -> None:
    first = await shop.drafts("Ana P.", "Primeiro.")
    await shop.drafts("João Ribeiro", "Segundo.")
    page = await shop.page()
    await shows(page, "Ana P.")
    line = page.locator("#items li", has_text="João Ribeiro")
    before = await line.bounding_box()
    await line.hover()
    await shop.office.decide(first, by=BRUNO)
    await expect(page.locator("#items li[data-gone] .who")).to_have_text("Ana P.")
    assert await line.bounding_box() == before
    await page.locator("#text").hover()
    await expect(page.locator("#items .who")).to_have_text(["João Ribeiro"])


async def test_a_new_text_appears_by_itself_before_an_empty_screen(shop: Shop) -> None:
    page = await shop.page()
    await expect(page.locator("[data-semantic-id='queue.empty']")).to_contain_text("Sincronizado às")
    await shop.drafts("Ana P.", "Primeiro.")
    await shows(page, "Ana P.")


async def test_the_end_of_a_session_keeps_what_was_typed(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.keyboard.type(" Às 15h.")
    async with shop.office.bench.db.transaction() as tx:
        await tx.execute("delete from session")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator("[data-code=session]")).to_be_visible()
    await expect(page.locator("#edited")).to_have_value("Consigo na sexta. Às 15h.")
    await page.locator("[data-code=session] a").press("Enter")
    await page.locator(f'button[value="{ANA}"]').press("Enter")
    await shows(page, "Ana P.")
    await expect(page.locator("#edited")).to_have_value("Consigo na sexta. Às 15h.")


async def test_a_lost_connection_keeps_what_was_typed_and_decides_once(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.context.set_offline(True)
    await page.keyboard.press("a")
    await expect(page.locator("#answer")).to_contain_text(CATALOGUES["pt-BR"]["js.no_answer"])
    await page.context.set_offline(False)
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-live=badges] [data-state=approved]")).to_be_visible()
    assert await shop.office.bench.value("select count(*) from vote") == 1


async def test_signing_out_forgets_what_was_typed(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Consigo na sexta.")
    page = await shop.page()
    await shows(page, "Ana P.")
    await page.keyboard.press("e")
    await page.keyboard.type(" Às 15h.")
    assert await page.evaluate("localStorage.length") == 1
    await page.locator("[data-do=sign-out]").press("Enter")
    await page.wait_for_url("**/sign-in")
    assert await page.evaluate("localStorage.length") == 0
    assert (await page.goto(f"{shop.url}/approvals")) is not None
    assert page.url.endswith("/sign-in?next=%2Fapprovals")


# --------------------------------------------------------------------------------------------------------- showing


async def test_nothing_in_a_text_is_hidden_from_who_approves(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Sem\u200b juros \u202eoirárohno. <b>👩‍⚕️</b>")
    page = await shop.page()
    await shows(page, "Ana P.")
    body = page.locator("[data-semantic-id='item.body']")
    await expect(body).to_have_text("SemU+200B juros U+202Eoirárohno. <b>👩‍⚕️</b>")
    await page.keyboard.press("v")
    await expect(page.locator(".view-raw")).to_contain_text("U+200D")
    await page.keyboard.press("v")
    await expect(page.locator(".view-bytes")).to_contain_text("e2 80 8b")


async def test_who_may_not_decide_is_told_why(shop: Shop) -> None:
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page(VERA)
    await shows(page, "Ana P.")
    await expect(page.locator("[data-semantic-id='decision.why-not']")).to_be_visible()
    await page.keyboard.press("a")
    await expect(page.locator("#live")).to_contain_text(CATALOGUES["pt-BR"]["why_not.no-right"])
    assert (await shop.standing("Ana P.")).state == "open"


@pytest.mark.parametrize("language", ["pt-BR", "en", "es"])
async def test_a_person_is_spoken_to_in_their_language(shop: Shop, language: str) -> None:
    await shop.speaks(BRUNO, language)
    await shop.drafts("Ana P.", "Primeiro.")
    page = await shop.page(BRUNO, locale="de-DE")
    await shows(page, "Ana P.")
    words = CATALOGUES[language]
    assert await page.evaluate("document.documentElement.lang") == language
    await expect(page.locator("[data-verb=approve] span")).to_have_text(words["verb.approve"])
    await page.keyboard.press("a")
    await expect(page.locator("#live")).to_have_text(f"{words['js.done.approve']} {words['js.none_left']}")


@pytest.mark.parametrize("width", [360, 768, 1280])
async def test_no_width_makes_the_page_scroll_sideways(shop: Shop, width: int) -> None:
    await shop.drafts("Um nome comprido sem fim de verdade", "x" * 300 + " https://exemplo.com/" + "y" * 200)
    await shop.says("Um nome comprido sem fim de verdade", "z" * 400, revision=2)
    page = await shop.page(width=width, height=700)
    await shows(page, "Um nome comprido sem fim de verdade")
    for act in ("o", "v", "v", "b"):
        await page.keyboard.press(act)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        wide = "(box) => box.scrollWidth <= box.clientWidth"
        assert await page.locator("#item .evidence").evaluate(wide)
    await expect(page.locator("#words-of-verb")).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_the_page_is_accessible(shop: Shop, scheme: str, width: int) -> None:
    await shop.drafts("Ana P.", "Sem\u200b juros.", drafted_body="Com juros.", classes=("price",))
    await shop.drafts("João Ribeiro", "Segundo.")
    await shop.says("Ana P.", "Mudei de ideia", revision=2)
    page = await shop.page(width=width, color_scheme=scheme)
    await shows(page, "Ana P.")
    for act in ("o", "b", "Escape", "e", "Escape", "?"):
        await page.keyboard.press(act)
        assert await violations(page) == ""
    await page.goto(f"{shop.url}/sign-in")
    assert await violations(page) == ""


async def test_a_full_queue_weighs_little(shop: Shop) -> None:
    for number in range(60):
        await shop.drafts(f"Cliente {number}", "Bom dia! Seu exame está pronto, pode retirar na recepção.")
    page = await shop.page()
    weights: list[int] = []

    async def weigh(answer: Response) -> None:
        if "/v1/events" not in answer.url:
            weights.append(len(await answer.body()))

    page.on("response", weigh)
    await page.goto(f"{shop.url}/approvals")
    await shows(page, "Cliente 0")
    assert 0 < sum(weights) <= PAGE_WEIGHT_BYTES


async def test_only_the_phone_of_the_local_profile_may_be_framed(bench_of: BenchFactory, browser: Browser) -> None:
    office = await open_office(bench_of, phone_url="http://localhost:9/telefone")
    async with serve(office, browser) as shop:
        page = await shop.page()
        answer = await page.goto(f"{shop.url}/")
        assert answer is not None
        assert "frame-src http://localhost:9;" in answer.headers["content-security-policy"]
        await expect(page.locator(".phone iframe")).to_have_attribute("src", "http://localhost:9/telefone")
        answer = await page.goto(f"{shop.url}/approvals")
        assert answer is not None
        assert "frame-src 'none';" in answer.headers["content-security-policy"]
        await page.set_viewport_size({"width": 360, "height": 700})
        await page.goto(f"{shop.url}/")
        await expect(page.locator(".phone")).to_be_hidden()
        await page.locator("[data-pane-to=phone]").press("Enter")
        await expect(page.locator(".phone")).to_be_visible()
        await expect(page.locator(".desk")).to_be_hidden()
