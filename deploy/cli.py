"""The command `chancela`. Exit codes: 0 done, 1 it did not hold, 2 wrong use or configuration, 3 refused by NATS."""

import asyncio
import runpy
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import msgspec
import typer
from rich.console import Console

from contracts import generate
from contracts.topology import BY_ROOT, SERVICES, Topic
from deploy import gates_command, lanes, recover_command, sends
from deploy.leak import command as leak

if TYPE_CHECKING:
    from asyncpg import Connection

    from shared.bus.setup import Drift, Outcome, Setup

T = TypeVar("T")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="AI agents draft, gates veto, people approve.",
)
bus = typer.Typer(no_args_is_help=True, help="Streams, consumers and rights of the bus.")
keys = typer.Typer(no_args_is_help=True, help="Keys and passwords of an installation.")
database = typer.Typer(no_args_is_help=True, help="Roles and rights of the database.")
demo = typer.Typer(no_args_is_help=True, help="Scripted runs through the whole system, on servers of their own.")
app.add_typer(bus, name="bus")
app.add_typer(keys, name="keys")
app.add_typer(database, name="database")
app.add_typer(demo, name="demo")
app.add_typer(lanes.app, name="lanes")
app.add_typer(sends.app, name="sends")
app.add_typer(leak.app, name="leak")
app.add_typer(gates_command.app, name="gates")
app.command("recover")(recover_command.recover)

console = Console(highlight=False)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, for machines.")]


@app.command()
def dev(
    home: Annotated[Path, typer.Option(help="Where the data of this installation lives.")] = Path(".data"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget everything and start anew.")] = False,
    port: Annotated[int, typer.Option(help="Port of the approval pages; the others follow it.")] = 8080,
) -> None:
    """Start everything on this machine: servers, six services, a local model and a phone.

    Example: chancela dev --fresh
    """
    from deploy.dev import run  # noqa: PLC0415 - the other commands need no servers

    raise typer.Exit(run(home, fresh=fresh, port=port, console=console))


@app.command()
def serve(service: Annotated[str, typer.Argument(help=f"One of: {', '.join(SERVICES)}.")]) -> None:
    """Run one service until SIGTERM, configured by CHANCELA_* variables.

    Example: chancela serve guardrails
    """
    runpy.run_module(f"services.{_known(service)}", run_name="__main__")


@app.command()
def migrate(
    service: Annotated[str, typer.Argument(help="Whose schema.")],
    phase: Annotated[str, typer.Option(help="pre (before the new code), post (after the old is gone) or all.")] = "all",
    json: Json = False,
) -> None:
    """Bring a service's schema to this release, as its owner role (CHANCELA_DATABASE_OWNER_URL or …_FILE).

    Example: CHANCELA_DATABASE_OWNER_URL=postgresql://… chancela migrate approval
    """
    from shared.config import ConfigError, environment, load  # noqa: PLC0415 - as in `dev`
    from shared.migrate import MigrationError  # noqa: PLC0415
    from shared.migrate import migrate as bring  # noqa: PLC0415

    class Owner(msgspec.Struct):
        database_owner_url: str

    try:
        url = load(Owner, environment()).database_owner_url
        done = asyncio.run(bring(url, _known(service), phase=phase))
    except (ConfigError, MigrationError, OSError) as error:
        _fail(str(error), code=2 if isinstance(error, ConfigError) else 1)
    _print(json, {"service": service, "applied": done}, f"{service}: {', '.join(done) or 'nothing to do'}")


@app.command()
def probe(
    url: Annotated[str, typer.Argument(help="Address of a probe.")] = "http://127.0.0.1:8081/readyz",
    ca: Annotated[
        Path | None, typer.Option("--ca", help="Authorities (PEM) to verify https against; none: do not verify.")
    ] = None,
) -> None:
    """Ask a probe; exit 0 when it says yes. For images without a shell.

    Example: chancela probe http://127.0.0.1:8081/readyz
    """
    import ssl  # noqa: PLC0415 - a probe must start fast
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    context = ssl.create_default_context(cafile=ca)
    if ca is None:  # as Kubernetes' own probes: the port is our own
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=3, context=context) as answer:  # noqa: S310 - the address is the caller's own
            console.print(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            _fail(f"{url}: {error.code} {error.read().decode(errors='replace')}")
    except OSError as error:
        _fail(f"{url}: {error}")


@app.command()
def doctor(
    home: Annotated[Path, typer.Option(help="The installation to look at.")] = Path(".data"), json: Json = False
) -> None:
    """Look at this machine and at a running installation: what is there, what is missing, what to do.

    Example: chancela doctor --json
    """
    from deploy.doctor import examine  # noqa: PLC0415 - as in `dev`

    findings = examine(home)
    if json:
        _print(True, {"findings": [msgspec.to_builtins(one) for one in findings]}, "")
    else:
        for one in findings:
            console.print(f"{'[green]ok[/]  ' if one.is_well else '[red]no[/]  '} {one.what}: {one.found}")
            if not one.is_well:
                console.print(f"      → {one.advice}")
    raise typer.Exit(0 if all(one.is_well for one in findings) else 1)


@bus.command("render")
def render(path: Annotated[str, typer.Argument(help="One of the generated files; empty lists them.")] = "") -> None:
    """Print what is generated from the map.

    Example: chancela bus render deploy/nats/accounts.conf
    """
    files = generate.files()
    if path and path not in files:
        _fail(f"{path} is not generated; there are {', '.join(files)}", code=2)
    sys.stdout.write(files[path] if path else "\n".join(files) + "\n")


class _Admin(msgspec.Struct):
    nats_url: str
    nats_admin_seed: str
    nats_ca_file: str = ""
    nats_cert_file: str = ""
    nats_key_file: str = ""
    nats_replicas: int = 1


@bus.command("apply")
def apply(
    accept: Annotated[
        list[str] | None,
        typer.Option(help="Repair this too, by the name that `bus check` gives it; `*` as in file names. Repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Create and repair streams and consumers (CHANCELA_NATS_URL, CHANCELA_NATS_ADMIN_SEED or …_FILE).

    What could lose messages is left to you and named; exit 1 when there is any.

    Example: chancela bus apply
    """

    async def run(setup: "Setup") -> "Outcome":
        return await setup.apply(accept or ())

    outcome = _with_setup(run)
    repaired, left = ([str(one) for one in some] for some in (outcome.repaired, outcome.left))
    lines = [*(f"repaired  {one}" for one in repaired), *(f"LEFT      {one}" for one in left)]
    _print(json, {"changes": repaired, "left": left}, "\n".join(lines) or "nothing to do")
    raise typer.Exit(1 if left else 0)


@bus.command("check")
def check(json: Json = False) -> None:
    """Report what differs from the map; exit 1 when anything does.

    Example: chancela bus check --json
    """

    async def run(setup: "Setup") -> "list[Drift]":
        return await setup.drift()

    drift = [str(one) for one in _with_setup(run)]
    _print(json, {"drift": drift}, "\n".join(drift) or "as the map says")
    raise typer.Exit(1 if drift else 0)


@bus.command("join")
def join(
    service: Annotated[str, typer.Argument(help="Who begins to hear.", show_default=False)],
    topic: Annotated[str, typer.Argument(help="What, for example ingest.contacts.", show_default=False)],
    history: Annotated[
        bool, typer.Option("--history/--from-now", help="Begin with the oldest message that the outbox holds.")
    ] = False,
    json: Json = False,
) -> None:
    """Let a running service hear a topic from now on, without a gap and without a stop.

    After its release, in which the map says so; `bus apply` and `database check` show the rest. May be run again.
    NATS as for `bus apply`, PostgreSQL as for `database check`.

    Example: chancela bus join operator ingest.contacts
    """
    from deploy import joining  # noqa: PLC0415 - as in `dev`

    async def run(setup: "Setup", connection: "Connection[Any]") -> "joining.Joined":
        return await joining.join(setup, connection, _known(service), _topic(topic), with_history=history)

    done = _with_both(run)
    told = (
        f"{service} hears {topic}: {done.lanes} lanes begin where they stand, {done.said_again} messages are said again"
    )
    _print(json, done, "\n".join([*done.consumer, told]))


@bus.command("leave")
def leave(
    service: Annotated[str, typer.Argument(help="Who ceases to hear.", show_default=False)],
    topic: Annotated[str, typer.Argument(help="What, for example ingest.contacts.", show_default=False)],
    json: Json = False,
) -> None:
    """Forget where a service stood in a topic that it does not hear any more by the map. May be run again.

    Example: chancela bus leave operator ingest.statuses
    """
    from deploy import joining  # noqa: PLC0415 - as in `dev`

    async def run(setup: "Setup", connection: "Connection[Any]") -> "joining.Left":
        return await joining.leave(setup, connection, _known(service), _topic(topic))

    done = _with_both(run)
    told = f"{service} does not hear {topic} any more: {done.lanes} lanes went, {done.not_run} messages had not run"
    _print(json, done, "\n".join([*done.consumer, told]))


def _topic(root: str) -> Topic:
    if root not in BY_ROOT:
        _fail(f"there is no topic {root!r}; there are {', '.join(BY_ROOT)}", code=2)
    return BY_ROOT[root]


def _with_both(work: "Callable[[Setup, Connection[Any]], Awaitable[T]]") -> T:
    """With NATS as the admin and PostgreSQL as a superuser."""
    import asyncpg  # noqa: PLC0415 - as in `dev`

    from deploy.joining import JoinError  # noqa: PLC0415
    from deploy.roles import Superuser  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415

    async def run(setup: "Setup") -> T:
        connection = await asyncpg.connect(load(Superuser, environment()).database_superuser_url)
        try:
            return await work(setup, connection)
        finally:
            await connection.close()

    try:
        return _with_setup(run)
    except ConfigError as error:
        _fail(str(error), code=2)
    except JoinError as error:
        _fail(str(error))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        _fail(f"CHANCELA_DATABASE_SUPERUSER_URL: {error}", code=3)


def _with_setup(work: "Callable[[Setup], Awaitable[T]]") -> T:
    from deploy.local.bus import wanted_streams  # noqa: PLC0415 - as in `dev`
    from shared.bus.setup import Setup, SetupError  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415
    from shared.tls import NATS, client_context  # noqa: PLC0415

    async def run(admin: _Admin) -> T:
        tls = client_context(NATS, admin.nats_ca_file, admin.nats_cert_file, admin.nats_key_file)
        setup = await Setup.open(
            admin.nats_url, admin.nats_admin_seed, wanted_streams(), replicas=admin.nats_replicas, tls=tls
        )
        try:
            return await work(setup)
        finally:
            await setup.close()

    try:
        return asyncio.run(run(load(_Admin, environment())))
    except ConfigError as error:
        _fail(str(error), code=2)
    except SetupError as error:
        _fail(str(error), code=3)


@database.command("check")
def check_database(json: Json = False) -> None:
    """Report what differs from the map in roles, rights and row-level security; exit 1 when anything does.

    Reads only, as a superuser (CHANCELA_DATABASE_SUPERUSER_URL or …_FILE).

    Example: chancela database check --json
    """
    import asyncpg  # noqa: PLC0415 - as in `dev`

    from deploy.drift import database_drift  # noqa: PLC0415
    from deploy.roles import Superuser  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415

    try:
        drift = asyncio.run(database_drift(load(Superuser, environment()).database_superuser_url))
    except ConfigError as error:
        _fail(str(error), code=2)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        _fail(f"CHANCELA_DATABASE_SUPERUSER_URL: {error}", code=3)
    _print(json, {"drift": drift}, "\n".join(drift) or "as the map says")
    raise typer.Exit(1 if drift else 0)


@keys.command("create")
def create(folder: Annotated[Path, typer.Argument(help="Where the key files go; existing ones are kept.")]) -> None:
    """Make every key and password that is missing, and print the public keys as NATS' configuration names them.

    Example: chancela keys create ./secrets
    """
    from deploy.keys import create_keys, nats_users  # noqa: PLC0415 - as in `dev`

    create_keys(folder)
    sys.stdout.write(nats_users(folder))


@keys.command("rotate")
def rotate(
    identity: Annotated[str, typer.Argument(help="A service, or admin, auditor, sys.")],
    folder: Annotated[Path, typer.Option("--keys", help="The key folder.", exists=True, file_okay=False)],
    step: Annotated[str, typer.Option(help="admit, switch or retire; none: say where it is.")] = "",
    only: Annotated[str, typer.Option(help="nats or database; none: both.")] = "",
    json: Json = False,
) -> None:
    """Exchange an identity's NATS key and database passwords in three steps, and say what to do after each.

    Example: chancela keys rotate operator --keys ./secrets --step admit
    """
    from deploy.rotate import RotationError, Step, what_next  # noqa: PLC0415 - as in `dev`
    from deploy.rotate import rotate as do  # noqa: PLC0415

    if step not in ("", *Step) or only not in ("", "nats", "database"):
        _fail(f"--step is one of {', '.join(Step)}; --only is nats or database", code=2)
    try:
        if step:
            do(folder, identity, Step(step), only)
        lines = what_next(folder, identity, only)
    except RotationError as error:
        _fail(str(error), code=2)
    _print(json, {"identity": identity, "next": lines}, "\n".join(lines))


@demo.command("conversation")
def conversation(
    file: Annotated[Path, typer.Argument(help="A scripted conversation (JSON).", exists=True, dir_okay=False)],
    json: Json = False,
) -> None:
    """Run a scripted conversation through a fresh system without a browser, deciding as given people.

    Example: chancela demo conversation tests/journeys/leak-veto-rewrite.json --json
    """
    from deploy.demo.conversation import main  # noqa: PLC0415 - as in `dev`

    raise typer.Exit(main(file, json=json, console=console))


@demo.command("webhooks")
def webhooks(
    file: Annotated[Path, typer.Argument(help="Labelled payloads (JSON lines).", exists=True, dir_okay=False)],
    json: Json = False,
) -> None:
    """Replay labelled payloads through the real HTTP endpoint of a fresh system and compare the actions.

    Example: chancela demo webhooks tests/samples/waha.jsonl --json
    """
    from deploy.demo.webhooks import main  # noqa: PLC0415 - as in `dev`

    raise typer.Exit(main(file, json=json, console=console))


@app.command()
def bench(  # noqa: PLR0917 - a command's options
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and fewer rounds: at most four minutes.")] = False,
    json: Json = False,
    only: Annotated[str, typer.Option(help="Names of benches, with commas between; empty means all.")] = "",
    stored: Annotated[int | None, typer.Option(help="Messages that the growth bench stores.", min=1000)] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Also print where our hop spends its CPU.")] = False,
    save: Annotated[Path | None, typer.Option(help="Keep the result in this file too (JSON).")] = None,
) -> None:
    """Measure the bus against what it is built on, on servers of its own; prints medians and ratios.

    Example: chancela bench --quick --only fetch,hop
    """
    from deploy.bench.command import main  # noqa: PLC0415 - as in `dev`
    from deploy.bench.run import NAMES  # noqa: PLC0415

    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        _fail(f"there is no bench {', '.join(unknown)}; there are {', '.join(NAMES)}", code=2)
    raise typer.Exit(
        main(quick=quick, json=json, only=names, stored=stored, profile=profile, save=save, console=console)
    )


def _known(service: str) -> str:
    if service not in SERVICES:
        _fail(f"there is no service {service!r}; there are {', '.join(SERVICES)}", code=2)
    return service


def _print(json: bool, value: object, text: str) -> None:
    if json:
        sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    else:
        console.print(text, markup=False, soft_wrap=True)  # brackets are data, and a command must stay on its line


def _fail(why: str, *, code: int = 1) -> NoReturn:
    Console(stderr=True, highlight=False).print(f"[red]{why}[/]")
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
