"""`chancela sends`: sends whose fate nobody knows, and what a person who looked says of them."""

import asyncio
import getpass
import socket
import sys
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from deploy.lanes import HERE, Home, Json, Url, Who, fail, tell, with_database

if TYPE_CHECKING:
    from services.delivery.by_hand import Word
    from services.delivery.store.claims import Uncertain
    from shared.db import Database

app = typer.Typer(no_args_is_help=True, help="Sends whose fate nobody knows: look, and settle by hand.")

LOOKS = 100
LOOK_SECONDS = 0.15
AT_MOST = 500


@app.command("list")
def list_(home: Home = HERE, url: Url = "", json: Json = False) -> None:
    """Sends that are uncertain, the oldest first; texts are never told.

    Example: chancela sends list
    """
    from services.delivery.store import claims  # noqa: PLC0415 - the other commands of `chancela` need none of it

    async def look(db: "Database") -> "list[Uncertain]":
        async with db.autocommit() as tx:
            return await claims.uncertain(tx, AT_MOST)

    found = with_database("delivery", home, url, look)
    tell(json, found, lambda: [_line(one) for one in found] or ["no send is uncertain"])


@app.command("settle")
def settle(  # noqa: PLR0917 - a command's options
    decision: Annotated[UUID, typer.Argument(help="The decision's id, as `sends list` tells it.", show_default=False)],
    reason: Annotated[str, typer.Option(help="What you saw, and where; kept as the evidence.")],
    arrived: Annotated[str, typer.Option(help="It arrived: the message's id at the channel.")] = "",
    not_sent: Annotated[
        bool, typer.Option("--not-sent", help="It did not leave; people may approve it again.")
    ] = False,
    who: Who = "",
    home: Home = HERE,
    url: Url = "",
    json: Json = False,
) -> None:
    """Say what became of an uncertain send; delivery carries it out. Nothing is sent by it.

    Exit codes: 1 it cannot be settled so, or delivery has not taken it up yet, 2 wrong use, 3 the database cannot be
    reached or refuses.

    Example: chancela sends settle 6f0e… --arrived 3EB0C767D26A1D4F --reason "seen on the phone, 14:32"
    """
    if bool(arrived.strip()) == not_sent:
        fail("say either --arrived ID or --not-sent", code=2)
    if not reason.strip():
        fail("--reason is empty: say what you saw, and where", code=2)
    from services.delivery.by_hand import Word  # noqa: PLC0415 - as in `list`

    person = who or f"{getpass.getuser()}@{socket.gethostname()}"
    word = Word(decision_id=decision, provider_id=arrived.strip() or None, person=person, why=reason.strip())
    refusal, state = with_database("delivery", home, url, lambda db: _settled(db, word))
    if refusal:
        fail(refusal, code=1)
    tell(json, {"decision_id": decision, "state": state}, lambda: [f"{decision}: {state}"])
    if state == "uncertain":
        sys.stderr.write("delivery has not taken it up yet; it will when it runs\n")
        raise typer.Exit(1)


async def _settled(db: "Database", word: "Word") -> tuple[str, str]:
    """Why not, or the state after a while."""
    from services.delivery import by_hand  # noqa: PLC0415 - as above
    from services.delivery.store import claims  # noqa: PLC0415
    from shared.bus import Effects  # noqa: PLC0415
    from shared.bus.handling import perform  # noqa: PLC0415

    async with db.transaction() as tx:
        claim = await claims.locked(tx, word.decision_id)
        refusal = by_hand.why_not(claim, word, await tx.now())
        if refusal is not None or claim is None:
            return refusal.detail if refusal else "", ""
        asked = Effects(jobs=[by_hand.job(word)])
        await perform(tx, asked, tenant=claim.tenant, cause=word.decision_id, traceparent="")
    state = "uncertain"
    for _ in range(LOOKS):
        async with db.autocommit() as tx:
            state = await claims.state_of(tx, word.decision_id)
        if state != "uncertain":
            break
        await asyncio.sleep(LOOK_SECONDS)
    return "", state


def _line(one: "Uncertain") -> str:
    looked = f"  not found at {one.absent_at:%Y-%m-%d %H:%M:%S}" if one.absent_at else ""
    return f"{one.decision_id}  to {one.chat}  since {one.begun_at:%Y-%m-%d %H:%M:%S}  {one.code}: {one.detail}{looked}"
