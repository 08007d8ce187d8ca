"""The ten gates as guardrails runs them at filing, with its metrics. `python -m deploy.bench.gates.ours`.

Each draft is judged against the twenty texts that were sent before it, three pieces of evidence and a team of two.
"""

import platform
from collections import deque
from typing import Final

from deploy.bench.gates.answering import answer
from services.guardrails import judging, service
from services.guardrails.chain import CHAIN_VERSION
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Evidence, EvidenceKind, Language
from services.guardrails.gate import Phase
from services.guardrails.gates.spinning import RECENT
from services.guardrails.rules import CATALOGUE

_EVIDENCE: Final = (
    Evidence(
        "p1", EvidenceKind.PRODUCT, "Furadeira X: garantia de 24 meses, entrega em 5 dias úteis, R$ 389,90 à vista"
    ),
    Evidence("p2", EvidenceKind.POLICY, "Trocas em até 7 dias com a nota; frete grátis acima de R$ 300 na cidade"),
    Evidence("s1", EvidenceKind.SOURCE, "Horário: segunda a sábado das 8h às 18h; domingo fechado"),
)


class Gates:
    def __init__(self) -> None:
        self._sent: deque[str] = deque(maxlen=RECENT)

    def judge(self, language: str, text: str) -> None:
        draft = a_draft(body=text, language=Language(language))
        facts = some_facts(
            recent_outbound=tuple(self._sent), evidence=_EVIDENCE, operations=CATALOGUE, people=("Marina", "Rafael")
        )
        judging.run_chain(draft, facts, Phase.FILING, service.observe)
        self._sent.append(text)


if __name__ == "__main__":
    answer(Gates().judge, {"python": platform.python_version(), "chain": str(CHAIN_VERSION)})
