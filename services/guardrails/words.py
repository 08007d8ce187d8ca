"""What people said and wrote in a run, apart from what the chain found: the one part of a run that can be erased.

Laws
- `together(apart(run))` is the run, to the byte; a test shows it for all that gates can say.
- What stays without the words quotes nobody: no text, no excerpt, no evidence, no phrase of a classifier. Texts that
  left the number before are named by id (`store.sent_text`), so that erasing one erases it from every run.
"""

import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from services.guardrails.facts import Draft, Evidence, Facts, PromiseReview, ReviewedPromise, Unknown
from services.guardrails.gate import Outcome, Span, Verdict

FAILED = "gate_failed"
"""The code of a gate that crashed: its warning says with which words, and they may be the draft's."""


class Words(Struct, frozen=True):
    """`excerpts`, `amended` and `crashes` in the order in which the verdicts have them."""

    body: str
    evidence: tuple[Evidence, ...] = ()
    reviewed: tuple[ReviewedPromise, ...] = ()
    excerpts: tuple[str, ...] = ()
    amended: tuple[str, ...] = ()
    crashes: tuple[str, ...] = ()


class Judged(Struct, frozen=True):
    """A draft, what was known, and what the ten and the candidates said."""

    draft: Draft
    facts: Facts
    verdicts: tuple[Verdict, ...]
    shadow: tuple[Verdict, ...] = ()


def apart(run: Judged) -> tuple[Judged, Words]:
    """The run without its words, and the words."""
    evidence, review = run.facts.evidence, run.facts.promise_review
    verdicts = (*run.verdicts, *run.shadow)
    words = Words(
        body=run.draft.body,
        evidence=() if isinstance(evidence, Unknown) else evidence,
        reviewed=review.promises if isinstance(review, PromiseReview) else (),
        excerpts=tuple(span.excerpt for verdict in verdicts for span in verdict.spans),
        amended=tuple(verdict.amended_body or "" for verdict in verdicts if verdict.outcome is Outcome.AMENDED),
        crashes=tuple(verdict.warning or "" for verdict in verdicts if verdict.code == FAILED),
    )
    bare = Judged(
        draft=replace(run.draft, body=""),
        facts=_with(run.facts, (), (), ()),
        verdicts=tuple(_wordless(verdict) for verdict in run.verdicts),
        shadow=tuple(_wordless(verdict) for verdict in run.shadow),
    )
    return bare, words


def together(bare: Judged, words: Words, recent: tuple[str, ...]) -> Judged:
    """The run as it was. `recent`: the texts that its facts name by id, oldest first."""
    parts = iter(words.excerpts), iter(words.amended), iter(words.crashes)
    return Judged(
        draft=replace(bare.draft, body=words.body),
        facts=_with(bare.facts, words.evidence, words.reviewed, recent),
        verdicts=tuple(_worded(verdict, *parts) for verdict in bare.verdicts),
        shadow=tuple(_worded(verdict, *parts) for verdict in bare.shadow),
    )


def fingerprint(words: str) -> bytes:
    """Recognises the same words again; stands beside them and goes with them, for short texts can be guessed."""
    return hashlib.sha256(words.encode()).digest()


def _with(
    facts: Facts, evidence: tuple[Evidence, ...], reviewed: tuple[ReviewedPromise, ...], recent: tuple[str, ...]
) -> Facts:
    """What was not known stays not known."""
    review = facts.promise_review
    return replace(
        facts,
        evidence=facts.evidence if isinstance(facts.evidence, Unknown) else evidence,
        promise_review=replace(review, promises=reviewed) if isinstance(review, PromiseReview) else review,
        recent_outbound=facts.recent_outbound if isinstance(facts.recent_outbound, Unknown) else recent,
    )


def _wordless(verdict: Verdict) -> Verdict:
    spans = tuple(replace(span, excerpt="") for span in verdict.spans)
    kind = (verdict.warning or "").partition(":")[0]
    return replace(verdict, spans=spans, amended_body=None, warning=kind if verdict.code == FAILED else verdict.warning)


def _worded(verdict: Verdict, excerpts: Iterator[str], amended: Iterator[str], crashes: Iterator[str]) -> Verdict:
    """A run of the release before has the words of its crashes in place."""
    spans: tuple[Span, ...] = tuple(replace(span, excerpt=next(excerpts)) for span in verdict.spans)
    body = (next(amended) or None) if verdict.outcome is Outcome.AMENDED else verdict.amended_body
    warning = next(crashes, verdict.warning) if verdict.code == FAILED else verdict.warning
    return replace(verdict, spans=spans, amended_body=body, warning=warning)


_words = msgspec.json.Decoder(Words)


def read(text: str) -> Words:
    return _words.decode(text)
