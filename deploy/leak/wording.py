"""How the numbers of a report read, on the console and on the page alike."""

from typing import Final

from deploy.leak.report import ArmResult, Asked, Pairing, Rate

NOTES: Final = (
    "Leaked: at least one find of gate 9's detector in the sent text. Denominator: turns that sent a message.",
    "95 %: interval of Wilson. Repeats of a scenario resemble each other, so it is too narrow where there are many.",
    "Read it beside the count of scenarios that leaked, and add scenarios rather than repeats.",
    "p: exact McNemar test over pairs of the same scenario and repeat. It does not say how large the difference is.",
    "Only here: spans that came through no other door. Closing that door alone would have kept them in.",
)


def share_of(rate: Rate | None) -> str:
    return f"{rate.share:.1%}" if rate else "refused"


def interval_of(rate: Rate | None) -> str:
    return f"{rate.low:.1%} – {rate.high:.1%}" if rate else "—"


def p_of(pairing: Pairing) -> str:
    return "< 0.0001" if pairing.p < 0.0001 else f"{pairing.p:.4f}"


def refusal_of(one: ArmResult) -> str:
    return f"{one.arm}: no rate. {one.refused[:1].upper()}{one.refused[1:]}."


def measured(asked: Asked) -> str:
    return (
        f"{asked.model} at {asked.endpoint}: {asked.scenarios} scenarios of {asked.scenarios_file}"
        f" ({asked.scenarios_digest}), each {asked.repeats}×; detector of chain {asked.chain_version}"
        f" ({asked.chain_hash[:12]}); {asked.began_at:%Y-%m-%d %H:%M} – {asked.ended_at:%H:%M} UTC"
    )
