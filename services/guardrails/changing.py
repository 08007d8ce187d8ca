"""What people change here, each with its entry in `act`, in the caller's transaction.

Laws
- A version of the rules is never changed: whoever saves names the version that they had before them, and the next one
  is made only when that is still the newest.
- A veto is not changed by a dispute: it is stored and counted, and the rule's owner reads it.
"""

from uuid import UUID

import msgspec
from msgspec.structs import replace

from services.guardrails.gate import Verdict
from services.guardrails.rules import Rules
from shared.db import Tx
from shared.web.people import Person


async def save_rules(
    tx: Tx, person: Person, rules: Rules, *, base: int, reason: str, repeats: int | None = None
) -> int | None:
    """The new version's number; None when somebody else saved since `base`. `repeats`: the version that is restored."""
    version = base + 1
    if rules.promise_table is not None:
        rules = replace(rules, promise_table=replace(rules.promise_table, version=version))
    made = await tx.execute(
        """insert into rules (tenant, version, rules, author, reason, repeats)
           select $1, $2, $3, $4, $5, $6 where $2 = (select coalesce(max(version), 0) + 1 from rules where tenant = $1)
           on conflict do nothing""",
        person.tenant,
        version,
        msgspec.json.encode(rules).decode(),
        person.email,
        reason,
        repeats,
    )
    if not made:
        return None
    what = "rules_saved" if repeats is None else "rules_restored"
    await _act(tx, person, what, str(version), reason)
    return version


async def dispute(tx: Tx, person: Person, run_id: UUID, veto: Verdict, reason: str) -> bool:
    """False when this person has disputed this veto before."""
    made = await tx.execute(
        """insert into dispute (tenant, run_id, gate, code, author, reason) values ($1, $2, $3, $4, $5, $6)
           on conflict do nothing""",
        person.tenant,
        run_id,
        veto.gate,
        veto.code or "",
        person.email,
        reason,
    )
    if made:
        await _act(tx, person, "veto_disputed", str(run_id), reason)
    return bool(made)


async def _act(tx: Tx, person: Person, what: str, subject: str, reason: str) -> None:
    await tx.execute(
        "insert into act (tenant, author, what, subject, reason) values ($1, $2, $3, $4, $5)",
        person.tenant,
        person.email,
        what,
        subject,
        reason,
    )
