"""`chancela gates replay`, `explain` and `erase`: stored runs of the chain, as a person looks at them."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from deploy.lanes import HERE, Home, Json, Url, database_url, fail, tell

if TYPE_CHECKING:
    from deploy.gates_report import Report, Story
    from services.guardrails.store.runs import Erased
    from shared.db import Database

T = TypeVar("T")

STATEMENT_SECONDS = 600.0
"""Counting the runs of a long window reads an index of all of them."""
WORKING_TREE = "working-tree"
_SPAN = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

Moment = Annotated[str, typer.Option(help="A span before now (30m, 12h, 7d, 2w) or a date and time, ISO 8601.")]


def replay(  # noqa: PLR0917 - a command's options
    since: Moment = "7d",
    until: Annotated[str, typer.Option(help="As --since; empty: now.")] = "",
    chain: Annotated[str, typer.Option(help="Judge with the chain of this code.")] = WORKING_TREE,
    tenant: Annotated[str, typer.Option(help="Only this tenant's runs (id); empty: all.")] = "",
    examples: Annotated[int, typer.Option(help="Examples of each gate's each kind of change.", min=0)] = 3,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Judge the stored runs again with this code's chain, and tell which verdicts would be others. Changes nothing.

    The role that reads guardrails' schema is enough (`guardrails_bus`). Exit codes: 0 also where verdicts differ,
    2 wrong use, 3 the database cannot be reached or refuses.

    Example: chancela gates replay --since 7d
    """
    from deploy import gates_report  # noqa: PLC0415 - the other commands of `chancela` need no gates
    from services.guardrails.store.runs import Window  # noqa: PLC0415

    if chain != WORKING_TREE:
        fail(f"there is no chain {chain!r}; there is {WORKING_TREE}: check out the release that you mean", code=2)
    whose = _id(tenant, "--tenant") if tenant else None

    async def work(db: "Database") -> "Report":
        async with db.autocommit() as tx:
            now = await tx.now()
        window = Window(_moment(since, now, "--since"), _moment(until or "0m", now, "--until"), whose)
        return await gates_report.replay(db, window, examples, _progress)

    found = _with_database(home, url, work)
    tell(json, found, lambda: list(gates_report.lines(found)))


def explain(
    about: Annotated[str, typer.Argument(help="Id of a decision, a draft or an obligation.", show_default=False)],
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Every run of a text, at filing and at dispatch: the verdicts in order, why, where, and from which facts.

    Shows people's words. Exit codes: 1 nothing was found, 2 wrong use, 3 the database cannot be reached or refuses.

    Example: chancela gates explain 0b0e6a3c-5d0c-4f0e-9f6e-0d3a5f1f7b11
    """
    from deploy import gates_report  # noqa: PLC0415 - as in `replay`

    asked = _id(about, "DECISION")

    async def work(db: "Database") -> "Story":
        return await gates_report.story(db, asked)

    found = _with_database(home, url, work)
    if not found.runs and not found.decisions:
        fail(gates_report.nothing(asked), code=1)
    tell(json, found, lambda: list(gates_report.story_lines(found)))


def erase(
    contact: Annotated[str, typer.Argument(help="Id of a contact.", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes/--dry-run", help="Do it; without, tell what would happen.")] = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Erase the words of a contact's runs. The runs stay, and count as "text gone" in a replay.

    Exit codes: 2 wrong use, 3 the database cannot be reached or refuses.

    Example: chancela gates erase 5b1c6f0e-2f43-4a7e-8d3b-6a1c2f9e4d70 --yes
    """
    from services.guardrails.store import runs  # noqa: PLC0415 - as in `replay`

    whose = _id(contact, "CONTACT")

    async def work(db: "Database") -> "Erased":
        async with db.transaction() as tx:
            await tx.execute("savepoint untouched")
            found = await runs.erase(tx, whose)
            if not yes:
                await tx.execute("rollback to savepoint untouched")
            return found

    found = _with_database(home, url, work)
    told = f"{found.texts} texts of runs and {found.sent} texts that left have no words any more"
    document = {"done": yes, "texts": found.texts, "sent": found.sent}
    tell(json, document, lambda: [told, "done" if yes else "nothing was changed; with --yes it is done"])


def _moment(said: str, now: datetime, option: str) -> datetime:
    span = _SPAN.fullmatch(said)
    if span is not None:
        return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        fail(f"{option} {said!r}: say a span (30m, 12h, 7d, 2w) or a date and time as 2026-09-21T15:00Z", code=2)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _id(said: str, option: str) -> UUID:
    try:
        return UUID(said)
    except ValueError:
        fail(f"{option} {said!r} is not an id (a UUID)", code=2)


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done:,} of {total:,} runs{'' if done < total else chr(10)}")
        sys.stderr.flush()


def _with_database(home: Path, url: str, work: "Callable[[Database], Awaitable[T]]") -> T:
    import asyncpg  # noqa: PLC0415 - as in `replay`

    from shared.config import ConfigError  # noqa: PLC0415
    from shared.db import TRANSIENT  # noqa: PLC0415

    try:
        return asyncio.run(_connected(database_url("guardrails", home, url), work))
    except ConfigError as error:
        fail(str(error), code=2)
    except (ValueError, asyncpg.PostgresError, *TRANSIENT) as error:
        fail(f"the database of guardrails: {error or repr(error)}", code=3)


async def _connected(url: str, work: "Callable[[Database], Awaitable[T]]") -> T:
    from shared.db import Database  # noqa: PLC0415 - as in `replay`

    db = await Database.connect(
        url,
        schema="guardrails",
        name="chancela-gates",
        max_size=1,
        statement_cache_size=0,
        command_seconds=STATEMENT_SECONDS,
    )
    try:
        return await work(db)
    finally:
        await db.close()
