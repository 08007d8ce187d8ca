"""`chancela recover`, as a person runs it: what it needs, what it tells, and what to do next."""

import asyncio
import getpass
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import msgspec
import typer

from contracts.topology import SERVICES

if TYPE_CHECKING:
    from deploy.recovering import Recovered
    from shared.db import Database

T = TypeVar("T")

STATEMENT_SECONDS = 3600.0
"""Fourteen days of a busy service are a few million rows to compare."""
DRY = "nothing was changed; without --dry-run it is done"


class _Place(msgspec.Struct):
    """PostgreSQL as a superuser; NATS twice: as the admin, who makes consumers, and as the service, which may read back
    what it said.
    """

    database_superuser_url: str
    nats_url: str
    nats_admin_seed: str
    nats_seed: str
    nats_ca_file: str = ""
    nats_cert_file: str = ""
    nats_key_file: str = ""
    nats_replicas: int = 1


def recover(  # noqa: PLR0917 - a command's options
    service: Annotated[str, typer.Argument(help=f"One of: {', '.join(SERVICES)}.", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and change nothing.")] = False,
    lift: Annotated[
        bool, typer.Option("--lift", help="delivery, when it is recovered: let it send again; needs --reason.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why; kept with the change.")] = "",
    who: Annotated[
        str, typer.Option(help="Who does it; kept with the change. Default: this account on this machine.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output, for machines.")] = False,
) -> None:
    """Let a service go on whose database was restored to an older state. May be run again.

    PostgreSQL as for `database check`, NATS as for `bus apply`, and the service's own key (CHANCELA_NATS_SEED or
    …_FILE). Exit codes: 1 something has to be done first, 2 wrong use, 3 refused or out of reach.

    Example: chancela recover delivery --dry-run
    """
    if service not in SERVICES:
        _fail(f"there is no service {service!r}; there are {', '.join(SERVICES)}", code=2)
    person = who or f"{getpass.getuser()}@{socket.gethostname()}"
    if lift:
        _lift(service, person, reason, json=json, dry_run=dry_run)
        return
    found = _run(lambda place: _recovered(place, service, person, reason, dry_run=dry_run))
    _print(json, {"done": not dry_run, "found": found}, _lines(service, found, dry_run=dry_run))


def _lift(service: str, who: str, reason: str, *, json: bool, dry_run: bool) -> None:
    if service != "delivery" or dry_run or not reason.strip():
        _fail("--lift is delivery's alone, without --dry-run, and needs a --reason: what was looked at", code=2)
    at = _run(lambda place: _lifted(place, service, who, reason))
    told = f"delivery sends again; what was decided before {at:%Y-%m-%d %H:%M:%S %Z} goes back to people" if at else ""
    _print(json, {"lifted_at": at}, [told or "sending is not held"])


async def _recovered(place: _Place, service: str, who: str, reason: str, *, dry_run: bool) -> "Recovered":
    from deploy.local.bus import wanted_streams  # noqa: PLC0415 - the other commands of `chancela` need none of these
    from deploy.recovering import recover as do  # noqa: PLC0415
    from shared.bus.reading import Reader  # noqa: PLC0415
    from shared.bus.setup import Setup  # noqa: PLC0415
    from shared.tls import NATS, client_context  # noqa: PLC0415

    tls = client_context(NATS, place.nats_ca_file, place.nats_cert_file, place.nats_key_file)
    setup = await Setup.open(
        place.nats_url, place.nats_admin_seed, wanted_streams(), replicas=place.nats_replicas, tls=tls
    )
    try:
        reader = await Reader.open(place.nats_url, place.nats_seed, service, tls)
        try:
            return await _with_database(
                place, service, lambda db: do(setup, reader, db, service, who=who, reason=reason, is_dry=dry_run)
            )
        finally:
            await reader.close()
    finally:
        await setup.close()


async def _lifted(place: _Place, service: str, who: str, reason: str) -> datetime | None:
    from deploy.recovering import lift  # noqa: PLC0415 - as above

    return await _with_database(place, service, lambda db: lift(db, service, who=who, reason=reason))


async def _with_database(place: _Place, service: str, work: "Callable[[Database], Awaitable[T]]") -> T:
    from shared.db import Database  # noqa: PLC0415 - as above

    url = place.database_superuser_url
    db = await Database.connect(
        url,
        schema=service,
        name="chancela-recover",
        max_size=2,
        statement_cache_size=0,
        command_seconds=STATEMENT_SECONDS,
    )
    try:
        return await work(db)
    finally:
        await db.close()


def _run(work: Callable[[_Place], Awaitable[T]]) -> T:
    import asyncpg  # noqa: PLC0415 - as above

    from deploy.joining import JoinError  # noqa: PLC0415
    from deploy.recovering import RecoverError  # noqa: PLC0415
    from shared.bus.reading import ReadingError  # noqa: PLC0415
    from shared.bus.setup import SetupError  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415
    from shared.db import TRANSIENT  # noqa: PLC0415

    async def run() -> T:
        return await work(load(_Place, environment()))

    try:
        return asyncio.run(run())
    except ConfigError as error:
        _fail(str(error), code=2)
    except (RecoverError, JoinError) as error:
        _fail(str(error), code=1)
    except (SetupError, ReadingError) as error:
        _fail(str(error), code=3)
    except (asyncpg.PostgresError, *TRANSIENT) as error:
        _fail(f"CHANCELA_DATABASE_SUPERUSER_URL: {error or repr(error)}", code=3)


def _lines(service: str, found: "Recovered", *, dry_run: bool) -> list[str]:
    lift = "delivery sends nothing yet: look at the uncertain sends, then `chancela recover delivery --lift --reason …`"
    if not found.consumers and not found.lost and found.positions.lanes == found.sends.claims == 0 and not dry_run:
        return [
            f"{service} knows everything that it acknowledged: nothing to recover",
            *([lift] if found.is_held else []),
        ]
    lines = [f"lost: {one}" for one in found.lost]
    lines.append(
        f"{found.positions.lanes} lanes go on behind what their stream holds, {found.positions.remembered} messages are"
        f" not said twice, {found.positions.misplaced} said since the restore go again behind them"
    )
    if service == "delivery":
        lines.append(
            f"{found.sends.claims} claims are as the stream says, {found.sends.uncertain} of them uncertain;"
            f" {found.sends.without_command} sends are too old to come again"
        )
    lines += found.consumers
    if dry_run:
        return [*lines, DRY]
    return [*lines, lift if found.is_held else f"{service} goes on; see `chancela lanes list {service}` for gaps"]


def _print(json: bool, value: object, lines: Sequence[str]) -> None:
    text = msgspec.json.encode(value).decode() if json else "\n".join(lines)
    sys.stdout.write(f"{text}\n")


def _fail(why: str, *, code: int) -> NoReturn:
    sys.stderr.write(f"{why}\n")
    raise typer.Exit(code)
