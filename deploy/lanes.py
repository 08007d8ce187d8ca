"""`chancela lanes`: what stands still in a service, and what a person does about it.

Changes tell first what they would do; they are done with `--yes`, and recorded in the service's table `repair`.
"""

import asyncio
import getpass
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import msgspec
import typer

from contracts.topology import SERVICES

if TYPE_CHECKING:
    from shared.bus.repair import Change, Repair, Standing, Stored
    from shared.db import Database

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, help="What stands still in a service: look, run again, skip, publish again.")

Service = Annotated[str, typer.Argument(help=f"One of: {', '.join(SERVICES)}.", show_default=False)]
Where = Annotated[str, typer.Argument(help="A lane, <topic>:<generation>:<key>, or a job's id.", show_default=False)]
Home = Annotated[Path, typer.Option(help="The running installation to look at.")]
Url = Annotated[
    str, typer.Option("--database-url", help="Else CHANCELA_DATABASE_URL (or …_FILE), else the installation's.")
]
Reason = Annotated[str, typer.Option(help="Why; kept with the change.")]
Who = Annotated[str, typer.Option(help="Who does it; kept with the change. Default: this account on this machine.")]
Yes = Annotated[bool, typer.Option("--yes/--dry-run", help="Do it; without, tell what would happen and undo it.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, for machines.")]

HERE = Path(".data")


@app.command("list")
def list_(service: Service, home: Home = HERE, url: Url = "", json: Json = False) -> None:
    """Lanes that wait or are parked, parked jobs, and the outbox; texts of messages are never told.

    Example: chancela lanes list operator
    """
    from shared.bus.repair import standing  # noqa: PLC0415 - the other commands of `chancela` need no database

    async def look(db: "Database") -> "Standing":
        return await standing(db, service)

    found = with_database(service, home, url, look)
    tell(json, found, lambda: _standing_lines(found))


@app.command("show")
def show(  # noqa: PLR0917 - a command's options
    service: Service,
    where: Where,
    reveal: Annotated[bool, typer.Option("--reveal", help="Show the texts too: customers' words.")] = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """The message that a lane stands at, or a job. Texts are hidden unless asked for.

    Example: chancela lanes show operator ingest.contacts:0:6f0e…
    """
    from shared.bus import repair  # noqa: PLC0415 - as in `list`

    async def look(db: "Database") -> "Stored":
        return await repair.show(db, where, reveal=reveal)

    found = with_database(service, home, url, look)
    tell(json, found, lambda: [msgspec.json.format(msgspec.json.encode(found), indent=2).decode()])


@app.command("unpark")
def unpark(  # noqa: PLR0917 - as above
    service: Service,
    where: Annotated[str, typer.Argument(help="A lane or a job's id; or --all.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Everything that is parked now.")] = False,
    reason: Reason = "",
    who: Who = "",
    yes: Yes = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Run what is parked again, after its cause was mended; its attempts are counted from zero.

    Example: chancela lanes unpark operator --all --reason "release 1.4.2 reads it" --yes
    """
    if bool(where) == all_:
        fail("name a lane or a job, or say --all", code=2)

    async def change(repair: "Repair") -> "list[Change]":
        return await (repair.unpark_all(reason) if all_ else repair.unpark(where, reason))

    _change(service, home, url, change, who=who, yes=yes, json=json)


@app.command("skip")
def skip(  # noqa: PLR0917 - as above
    service: Service,
    where: Where,
    reason: Annotated[str, typer.Option(help="Why this message may be left out; kept with the change.")],
    who: Who = "",
    yes: Yes = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Move a lane past the message it stands at, or drop a parked job. What is skipped stays in the quarantine.

    Example: chancela lanes skip operator ingest.contacts:0:6f0e… --reason "a test contact" --yes
    """
    if not reason.strip():
        fail("--reason is empty: say why this message may be left out", code=2)

    async def change(repair: "Repair") -> "list[Change]":
        return await repair.skip(where, reason)

    _change(service, home, url, change, who=who, yes=yes, json=json)


@app.command("replay")
def replay(  # noqa: PLR0917 - as above
    service: Annotated[str, typer.Argument(help="The service that said the messages.", show_default=False)],
    lane: Annotated[str, typer.Argument(help="<topic>:<generation>:<key>.", show_default=False)],
    from_seq: Annotated[int, typer.Option("--from", help="The first position to publish again.", min=0)],
    reason: Reason = "",
    who: Who = "",
    yes: Yes = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Publish a lane's messages once more; who has heard them swallows them. For a stream that lost some.

    Example: chancela lanes replay ingest ingest.contacts:0:6f0e… --from 17 --yes
    """

    async def change(repair: "Repair") -> "list[Change]":
        return await repair.replay(lane, from_seq, reason)

    _change(service, home, url, change, who=who, yes=yes, json=json)


@app.command("resume")
def resume(  # noqa: PLR0917 - as above
    service: Service,
    reason: Reason = "",
    who: Who = "",
    yes: Yes = False,
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Let processes go on that stopped because too much was parked in a row. Mend the cause first.

    Example: chancela lanes resume operator --reason "rolled back" --yes
    """

    async def change(repair: "Repair") -> "list[Change]":
        return await repair.resume(reason)

    _change(service, home, url, change, who=who, yes=yes, json=json)


def _change(
    service: str,
    home: Path,
    url: str,
    change: "Callable[[Repair], Awaitable[list[Change]]]",
    *,
    who: str,
    yes: bool,
    json: bool,
) -> None:
    from shared.bus.repair import Repair  # noqa: PLC0415 - as in `list`

    async def do(db: "Database") -> "list[Change]":
        return await change(Repair(db, who or f"{getpass.getuser()}@{socket.gethostname()}", is_dry=not yes))

    changes = with_database(service, home, url, do)
    document = {"done": yes, "changes": changes}
    tell(json, document, lambda: [*_change_lines(changes), _last_line(changes, yes)])


def with_database(service: str, home: Path, url: str, work: "Callable[[Database], Awaitable[T]]") -> T:
    """Run with a connection of the service's own role.

    Exit codes: 1 what was named is not there, 2 wrong use, 3 the database cannot be reached or refuses.
    """
    import asyncpg  # noqa: PLC0415 - as in `list`

    from shared.bus.repair import Unknown  # noqa: PLC0415
    from shared.config import ConfigError  # noqa: PLC0415
    from shared.db import TRANSIENT  # noqa: PLC0415

    if service not in SERVICES:
        fail(f"there is no service {service!r}; there are {', '.join(SERVICES)}", code=2)
    try:
        return asyncio.run(_connected(service, database_url(service, home, url), work))
    except ConfigError as error:
        fail(str(error), code=2)
    except Unknown as error:
        fail(str(error), code=1)
    except (ValueError, asyncpg.PostgresError, *TRANSIENT) as error:
        fail(f"the database of {service}: {error or repr(error)}", code=3)


async def _connected(service: str, url: str, work: "Callable[[Database], Awaitable[T]]") -> T:
    from shared.db import Database  # noqa: PLC0415 - as in `list`

    db = await Database.connect(url, schema=service, name="chancela-lanes", max_size=1, statement_cache_size=0)
    try:
        return await work(db)
    finally:
        await db.close()


def database_url(service: str, home: Path, given: str) -> str:
    """What was given, what the environment says, or the running installation's.

    Raises:
        ConfigError: none of them names a database.
    """
    from deploy.keys import login_in_use  # noqa: PLC0415 - as in `list`
    from deploy.local.layout import DATABASE  # noqa: PLC0415
    from deploy.local.postgres import running_dsn  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415

    class Place(msgspec.Struct):
        database_url: str = ""

    said = given or load(Place, environment()).database_url
    if said:
        return said
    keys = home / "keys"
    found = None
    if keys.is_dir():
        found = running_dsn(home / "postgres", DATABASE, *login_in_use(keys, f"{service}_bus"))
    if found is None:
        raise ConfigError(
            f"no installation runs in {home}: start it (`chancela dev`), name its folder with --home, "
            "or give --database-url or CHANCELA_DATABASE_URL (the service's role `…_bus`)"
        )
    return found


def _standing_lines(found: "Standing") -> list[str]:
    from shared.lanes_page import duration  # noqa: PLC0415 - as in `list`

    lines = [
        f"{one.state:8}{one.lane}  at {one.seq}  {one.message or '?'}  {one.attempts} attempts  "
        f"for {duration(one.seconds)}  {one.stored} stored  {one.why}".rstrip()
        for one in found.lanes
    ]
    lines += [
        f"parked  job:{one.job}  {one.kind}  {one.key}  {one.attempts} attempts  {one.lost} lost  "
        f"for {duration(one.seconds)}  {one.behind} behind  {one.why}".rstrip()
        for one in found.jobs
    ]
    if found.is_cut:
        lines.append("… and more than that")
    age = duration(found.outbox_seconds)
    outbox = f"outbox: {found.outbox_rows} not acknowledged, the oldest for {age}; {found.again_rows} to go again"
    return [*(lines or [f"nothing stands still in {found.service}"]), outbox]


def _change_lines(changes: "Sequence[Change]") -> list[str]:
    return [f"{one.what:8}{one.where or 'all'}: {one.says}" for one in changes]


def _last_line(changes: "Sequence[Change]", yes: bool) -> str:
    if not changes:
        return "nothing to do"
    return "done" if yes else "nothing was changed; with --yes it is done"


def tell(json: bool, value: object, lines: Callable[[], Sequence[str]]) -> None:
    text = msgspec.json.encode(value).decode() if json else "\n".join(lines())
    sys.stdout.write(f"{text}\n")


def fail(why: str, *, code: int) -> NoReturn:
    sys.stderr.write(f"{why}\n")
    raise typer.Exit(code)
