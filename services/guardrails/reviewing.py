"""The classifier's answer as a fact: asked apart from any transaction, remembered, and then only read.

The path: a text without a reading → a slow job asks the classifier (`asking`) → the draft is filed, or the decision
dispatched, again. One text with one evidence has one reading by one classifier, so a verdict cannot flip between filing
and dispatch; a person's edit is another text and is read anew.
"""

from collections.abc import Awaitable, Callable

from services.guardrails.classifier import Classifier
from services.guardrails.facts import PromiseReview, Unknown
from services.guardrails.store.reviews import Question, remembered
from shared.bus import Effects, Job, Slow, StartJob
from shared.db import Tx


def asking(
    classifier: Classifier,
    kind: str,
    load: Callable[[Tx, Job], Awaitable[Question | None]],
    then: Callable[[Job, str], StartJob],
) -> Slow:
    """The slow job of a kind: asks, remembers, and starts what waited; `then` is told why there is no reading."""

    async def work(question: Question) -> PromiseReview | Unknown:
        return await classifier.read(question.body, question.evidence)

    async def finish(_tx: Tx, job: Job, question: Question, answer: PromiseReview | Unknown) -> Effects:
        if isinstance(answer, Unknown):
            return Effects(jobs=[then(job, answer.cause)])
        return Effects(writes=[remembered(question, answer)], jobs=[then(job, "")])

    return Slow(kind, load, work, finish)
