"""`chancela leak`, as a person runs it: what it needs, what it tells, how it ends."""

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn
from urllib.parse import urlsplit

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shared.clock import utc_now
from shared.config import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deploy.leak.arms import Arm
    from deploy.leak.report import Report
    from deploy.leak.scenarios import Scenarios
    from deploy.leak.turns import Task, Turn

app = typer.Typer(no_args_is_help=True, help="How often a model tells customers about the machine.")

PROMPTS: Final[dict[str, "tuple[Arm, ...]"]] = {
    "attendance": ("attendance",),
    "operator": ("operator",),
    "hybrid": ("hybrid",),
    "both": ("attendance", "operator"),
    "all": ("attendance", "hybrid", "operator"),
}
LONGEST_BACKOFF_SECONDS: Final = 8.0
"""Of the client, between two tries."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the model is and how patiently it is asked."""

    model_base_url: str
    model_api_key: str
    model_timeout_seconds: float
    model_retries: int

    @property
    def model_budget_seconds(self) -> float:
        return (self.model_timeout_seconds + LONGEST_BACKOFF_SECONDS) * (self.model_retries + 1)

    @property
    def shown(self) -> str:
        """Without what an address may hide: a user, a password, a key in the query."""
        parts = urlsplit(self.model_base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@app.callback()
def leak() -> None:
    """Keep `measure` a command of its own: with one command alone it would be the group itself."""


@app.command("measure")
def measure(  # noqa: PLR0917 - a command's options
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="An OpenAI-compatible endpoint, as …/v1.", show_default=False)
    ],
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="The model's name there.", show_default=False)],
    scenarios: Annotated[
        Path | None, typer.Option(help="JSON or YAML; none: the 18 that come with it.", dir_okay=False)
    ] = None,
    prompt: Annotated[str, typer.Option(help=f"One of: {', '.join(PROMPTS)}.")] = "all",
    n: Annotated[int, typer.Option("--n", help="How often each scenario runs, per prompt.", min=1, max=1000)] = 1,
    at_once: Annotated[int, typer.Option(help="Turns at once.", min=1, max=256)] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds for one answer.", min=0.1)] = 60.0,
    retries: Annotated[int, typer.Option(help="Of one question, with the client's backoff.", min=0, max=20)] = 2,
    key_env: Annotated[str, typer.Option(help="The variable that holds the key; unset: no key.")] = "OPENAI_API_KEY",
    at_most: Annotated[
        float | None,
        typer.Option(help="Exit 1 when the attendance prompt leaks in more than this per cent.", min=0, max=100),
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Keep everything in this file (JSON).", dir_okay=False)] = None,
    html: Annotated[Path | None, typer.Option(help="Keep the report in this file.", dir_okay=False)] = None,
) -> None:
    """Run whole turns with the gate disarmed, and say how often what was sent shows the machine behind it.

    The texts of scenarios go to the endpoint. How to read it: deploy/runbooks/measure-the-leak.md.

    Exit codes: 0 every rate is printed, 1 --at-most did not hold, 2 wrong use or too few turns for a rate.

    Example: chancela leak measure --base-url http://127.0.0.1:8089/v1 --model chancela-local --n 3 --html leaks.html
    """
    from deploy.leak.report import Asked, report  # noqa: PLC0415 - the other commands of `chancela` need none of these
    from deploy.leak.turns import tasks  # noqa: PLC0415
    from services.guardrails.chain import CHAIN_VERSION, chain_hash  # noqa: PLC0415

    arms = _arms(prompt, at_most)
    chosen = _scenarios(scenarios, n)
    for path in (json, html):
        if path is not None and not path.absolute().parent.is_dir():
            _fail(f"{path}: there is no folder {path.parent}")
    if urlsplit(base_url).scheme not in ("http", "https"):
        _fail(f"--base-url {base_url}: an address begins with http:// or https://")
    endpoint = Endpoint(
        model_base_url=base_url,
        model_api_key=environment().get(key_env) or "none",
        model_timeout_seconds=timeout,
        model_retries=retries,
    )
    began = utc_now()
    turns = asyncio.run(_run(list(tasks(chosen.each, arms, n)), endpoint, model, at_once, began))
    asked = Asked(
        model=model,
        endpoint=endpoint.shown,
        scenarios_file=chosen.file,
        scenarios_digest=chosen.digest,
        scenarios=len(chosen.each),
        repeats=n,
        began_at=began,
        ended_at=utc_now(),
        chain_version=CHAIN_VERSION,
        chain_hash=chain_hash(),
    )
    found = report(asked, arms, turns)
    _keep(found, chosen, json, html)
    raise typer.Exit(_exit_code(found, at_most))


def _arms(prompt: str, at_most: float | None) -> "tuple[Arm, ...]":
    if prompt not in PROMPTS:
        _fail(f"--prompt {prompt}: it is one of {', '.join(PROMPTS)}")
    if at_most is not None and "attendance" not in PROMPTS[prompt]:
        _fail(f"--at-most is about the attendance prompt, which --prompt {prompt} does not run")
    return PROMPTS[prompt]


def _scenarios(path: Path | None, repeats: int) -> "Scenarios":
    from deploy.leak.report import LEAST_TURNS  # noqa: PLC0415 - as above
    from deploy.leak.scenarios import DEFAULT, ScenarioError, read  # noqa: PLC0415

    try:
        chosen = read(path or DEFAULT)
    except ScenarioError as error:
        _fail(str(error))
    if (planned := len(chosen.each) * repeats) < LEAST_TURNS:
        _fail(
            f"{len(chosen.each)} scenarios × {repeats} are {planned} turns; a rate needs at least {LEAST_TURNS}: "
            "raise --n or add scenarios"
        )
    return chosen


async def _run(planned: "Sequence[Task]", endpoint: Endpoint, model: str, at_once: int, now: datetime) -> "list[Turn]":
    """The turns, with their progress on the console."""
    from deploy.leak.turns import run_all  # noqa: PLC0415 - as above
    from services.conversador.model import Model  # noqa: PLC0415

    client, failed, leaked = Model(endpoint), 0, 0
    with _progress() as progress:
        bar = progress.add_task("turns", total=len(planned), failed=0, leaked=0)

        def tell(turn: "Turn") -> None:
            nonlocal failed, leaked
            failed, leaked = failed + (turn.ended == "failed"), leaked + bool(turn.spans)
            progress.update(bar, advance=1, failed=failed, leaked=leaked)

        try:
            return await run_all(planned, client, model, at_once=at_once, now=now, tell=tell)
        finally:
            await client.close()


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} did not run, {task.fields[leaked]} leaked"),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
    )


def _keep(found: "Report", chosen: "Scenarios", json: Path | None, html: Path | None) -> None:
    from deploy.leak import page, table  # noqa: PLC0415 - as above

    table.show(found, Console(highlight=False))
    try:
        if json is not None:
            json.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
        if html is not None:
            html.write_text(page.render(found, chosen.each), encoding="utf-8")
    except OSError as error:
        _fail(f"{error.filename} cannot be written: {error.strerror}")


def _exit_code(found: "Report", at_most: float | None) -> int:
    if found.is_refused:
        return 2
    attendance = next((one.rate for one in found.arms if one.arm == "attendance"), None)
    return 1 if at_most is not None and attendance is not None and attendance.share * 100 > at_most else 0


def _fail(why: str) -> NoReturn:
    sys.stderr.write(f"{why}\n")
    raise typer.Exit(2)
