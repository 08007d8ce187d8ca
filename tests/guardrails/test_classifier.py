"""The second reader of gate 7, over real HTTP: what it adds, what it cannot argue away, and what happens without it."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from contracts import messages as m
from services.guardrails import classifier, service
from services.guardrails.classifier import Classifier
from services.guardrails.facts import Evidence, EvidenceKind, PromiseReview, Unknown
from services.guardrails.store import reviews
from tests.conversador.model_servers import Reply, ScriptedModel, completion, fails, says, serving
from tests.guardrails.world import (
    TENANT,
    approved,
    config,
    only,
    proposed,
    received,
    with_channel,
    wrote_to_before,
)
from tests.harness import Bench, BenchFactory

HIDDEN = "a gente cuida da despesa"
WITH_A_HIDDEN_PROMISE = f"Fica tranquila que {HIDDEN}."
PLAIN = "Abrimos das 8h às 18h."


def reads(*promises: tuple[str, tuple[str, ...]]) -> Reply:
    return says(json.dumps({"promises": [{"phrase": text, "supported_by": ids} for text, ids in promises]}))


def finding_the_hidden_one(request: Mapping[str, Any]) -> Reply:
    shown = json.loads(request["messages"][-1]["content"])
    return reads(*([(HIDDEN, ())] if HIDDEN in shown["message"] else []))


@pytest.fixture
async def model() -> ScriptedModel:
    scripted = ScriptedModel()
    scripted.script = finding_the_hidden_one
    return scripted


@pytest.fixture
async def url(model: ScriptedModel) -> AsyncIterator[str]:
    async with serving(model.app) as base_url:
        yield base_url


@pytest.fixture
async def reader(url: str) -> AsyncIterator[Classifier]:
    reader = Classifier(config(classifier_base_url=url, classifier_retries=0))
    yield reader
    await reader.close()


@pytest.fixture
async def bench(bench_of: BenchFactory, reader: Classifier) -> Bench:
    bench = await bench_of("guardrails", service.handlers(config(), reader))
    await with_channel(bench)
    await wrote_to_before(bench)
    await bench.hear(received())
    return bench


async def test_a_promise_that_no_word_betrays_is_vetoed_with_its_phrase(bench: Bench, model: ScriptedModel) -> None:
    await bench.hear(proposed(WITH_A_HIDDEN_PROMISE))
    assert await bench.said() == []
    await bench.run_jobs()
    vetoed = only(await bench.said(), m.DraftVetoed)
    assert (vetoed.gate, vetoed.code) == ("semantic_promise", "promise_unsupported")
    (span,) = next(one.spans for one in vetoed.verdicts if one.gate == "semantic_promise")
    assert WITH_A_HIDDEN_PROMISE[span.start : span.end] == HIDDEN
    assert len(model.asked) == 1


async def test_the_classifier_sees_the_text_and_its_evidence_and_nothing_of_the_customer(
    bench: Bench, model: ScriptedModel
) -> None:
    await bench.hear(received("Meu CPF é 111", revision=2), proposed(PLAIN, revision=2))
    await bench.run_jobs()
    (asked,) = model.asked
    assert json.loads(asked["messages"][-1]["content"]) == {"message": PLAIN, "evidence": []}
    assert "111" not in json.dumps(asked)
    assert asked["response_format"]["json_schema"]["strict"] is True


async def test_a_text_is_read_once_for_filing_and_dispatch(bench: Bench, model: ScriptedModel) -> None:
    await bench.hear(proposed(PLAIN))
    await bench.run_jobs()
    await bench.hear(approved(PLAIN))
    await bench.run_jobs()
    assert only([one for one in await bench.said() if isinstance(one, m.SendCommand)], m.SendCommand)
    assert len(model.asked) == 1


async def test_an_edit_is_another_text_and_is_read_before_it_leaves(bench: Bench, model: ScriptedModel) -> None:
    await bench.hear(proposed(PLAIN))
    await bench.run_jobs()
    await bench.said()
    await bench.hear(approved(WITH_A_HIDDEN_PROMISE))
    await bench.run_jobs()
    refused = only(await bench.said(), m.DispatchRefused)
    assert (refused.gate, refused.code) == ("semantic_promise", "promise_unsupported")
    assert len(model.asked) == 2


async def test_an_approval_that_ends_while_its_text_is_read_never_leaves(bench: Bench) -> None:
    decision = approved(PLAIN)
    await bench.hear(decision)
    await bench.rows("update dispatch set state = 'revoked'")
    await bench.run_jobs()
    assert await bench.said() == []


async def test_what_the_words_say_is_not_argued_away(bench: Bench, model: ScriptedModel) -> None:
    model.script = lambda _: reads()
    await bench.hear(proposed("Pode vir que o estacionamento é grátis."))
    await bench.run_jobs()
    assert only(await bench.said(), m.DraftVetoed).code == "promise_unsupported"


UNUSABLE: dict[str, Reply] = {
    "500": fails(500),
    "400": fails(400),
    "prose": says("Claro! Aqui está."),
    "an unknown field": says(json.dumps({"promises": [], "verdict": "fine"})),
    "a phrase that is not in the text": reads(("isto não está no texto", ())),
    "evidence that was not shown": reads((PLAIN, ("catalogue@9",))),
    "an empty phrase": reads(("", ())),
    "no choice": {**completion({}), "choices": []},
    "no content": completion({"content": None}),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
async def test_without_a_usable_answer_the_words_alone_decide_and_people_are_told(
    bench: Bench, model: ScriptedModel, answer: Reply
) -> None:
    model.script = lambda _: answer
    await bench.hear(proposed(PLAIN))
    await bench.run_jobs()
    cleared = only(await bench.said(), m.DraftCleared)
    warning = next(one.warning for one in cleared.verdicts if one.gate == "semantic_promise")
    assert warning.startswith("no classifier: the classifier")
    assert await bench.value("select count(*) from review") == 0
    await bench.hear(proposed("Garantimos o mesmo preço até dezembro."))
    await bench.run_jobs()
    assert only(await bench.said(), m.DraftVetoed).code == "promise_unsupported"


async def test_an_endpoint_that_fails_again_and_again_is_left_alone_and_asked_again_later(
    reader: Classifier, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(classifier, "monotonic", lambda: now)
    model.script = lambda _: fails(500)
    for _ in range(10):
        assert isinstance(await reader.read(PLAIN, ()), Unknown)
    assert len(model.asked) == classifier.FAILURES_IN_A_ROW
    model.script = finding_the_hidden_one
    now += classifier.REST_SECONDS
    assert isinstance(await reader.read(PLAIN, ()), PromiseReview)


async def test_cited_evidence_supports(reader: Classifier, model: ScriptedModel) -> None:
    model.script = lambda _: reads((HIDDEN, ("rules@2",)))
    evidence = (Evidence("rules@2", EvidenceKind.SOURCE, "A casa paga o frete da troca."),)
    review = await reader.read(WITH_A_HIDDEN_PROMISE, evidence)
    assert isinstance(review, PromiseReview)
    assert [(one.phrase, one.evidence_ids) for one in review.promises] == [(HIDDEN, ("rules@2",))]


async def test_another_model_reads_anew(reader: Classifier) -> None:
    other = Classifier(config(classifier_base_url="http://127.0.0.1:9/v1", classifier_model="other"))
    await other.close()
    question = reviews.Question(TENANT, PLAIN, ())
    assert reviews.key_of(question, reader.version) != reviews.key_of(question, other.version)


async def test_no_classifier_asks_nobody(bench_of: BenchFactory, model: ScriptedModel) -> None:
    bench = await bench_of("guardrails", service.handlers(config()))
    await with_channel(bench)
    await wrote_to_before(bench)
    await bench.hear(received(), proposed(PLAIN))
    assert only(await bench.said(), m.DraftCleared)
    assert model.asked == []
