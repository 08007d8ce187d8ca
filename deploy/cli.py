"""The command `chancela`. Exit codes: 0 done, 1 it did not hold, 2 wrong use or configuration, 3 refused by NATS."""

import asyncio
import runpy
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.console import Console

from contracts import generate
from contracts.topology import SERVICES

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="AI agents draft, gates veto, people approve.",
)
bus = typer.Typer(no_args_is_help=True, help="Streams, consumers and rights of the bus.")
keys = typer.Typer(no_args_is_help=True, help="Keys and passwords of an installation.")
demo = typer.Typer(no_args_is_help=True, help="Scripted runs through the whole system, on servers of their own.")
app.add_typer(bus, name="bus")
app.add_typer(keys, name="keys")
app.add_typer(demo, name="demo")

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
def probe(url: Annotated[str, typer.Argument(help="Address of a probe.")] = "http://127.0.0.1:8081/readyz") -> None:
    """Ask a probe; exit 0 when it says yes. For images without a shell.

    Example: chancela probe http://127.0.0.1:8081/readyz
    """
    import urllib.request  # noqa: PLC0415 - a probe must start fast

    try:
        with urllib.request.urlopen(url, timeout=3) as answer:  # noqa: S310 - the address is the caller's own
            console.print(answer.read().decode())
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
    nats_replicas: int = 1


@bus.command("apply")
def apply(json: Json = False) -> None:
    """Create and repair streams and consumers (CHANCELA_NATS_URL, CHANCELA_NATS_ADMIN_SEED or …_FILE).

    Example: chancela bus apply
    """
    changes = _setup(repair=True)
    _print(json, {"changes": changes}, "\n".join(changes) or "nothing to do")


@bus.command("check")
def check(json: Json = False) -> None:
    """Report what differs from the map; exit 1 when anything does.

    Example: chancela bus check --json
    """
    drift = _setup(repair=False)
    _print(json, {"drift": drift}, "\n".join(drift) or "as the map says")
    raise typer.Exit(1 if drift else 0)


def _setup(*, repair: bool) -> list[str]:
    from deploy.local.bus import wanted_streams  # noqa: PLC0415 - as in `dev`
    from shared.bus.setup import Setup, SetupError  # noqa: PLC0415
    from shared.config import ConfigError, environment, load  # noqa: PLC0415

    async def run(admin: _Admin) -> list[str]:
        setup = await Setup.open(admin.nats_url, admin.nats_admin_seed, wanted_streams(), replicas=admin.nats_replicas)
        try:
            return await (setup.apply() if repair else setup.drift())
        finally:
            await setup.close()

    try:
        return asyncio.run(run(load(_Admin, environment())))
    except ConfigError as error:
        _fail(str(error), code=2)
    except SetupError as error:
        _fail(str(error), code=3)


@keys.command("create")
def create(folder: Annotated[Path, typer.Argument(help="Where the key files go; existing ones are kept.")]) -> None:
    """Make every key and password that is missing, and print the public NKEYs for the NATS configuration.

    Example: chancela keys create ./secrets
    """
    from deploy.keys import create_keys, public_nkeys  # noqa: PLC0415 - as in `dev`

    create_keys(folder)
    sys.stdout.writelines(f"{name}={value}\n" for name, value in public_nkeys(folder).items())


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


def _known(service: str) -> str:
    if service not in SERVICES:
        _fail(f"there is no service {service!r}; there are {', '.join(SERVICES)}", code=2)
    return service


def _print(json: bool, value: object, text: str) -> None:
    if json:
        sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    else:
        console.print(text)


def _fail(why: str, *, code: int = 1) -> NoReturn:
    Console(stderr=True, highlight=False).print(f"[red]{why}[/]")
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
