"""`chancela demo conversation`: a scripted conversation through the whole system, without a browser."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import httpx
import msgspec
from rich.console import Console

from deploy.demo.events import Observer, until
from deploy.demo.fresh import fresh_stack
from deploy.demo.outside import Outside, customer_message, envelope
from deploy.demo.script import Decision, Says, Script, check, read
from deploy.local.layout import RULES, Layout
from deploy.local.stack import Stack
from shared.clock import utc_now

TURN_SECONDS = 30.0
FATE_SECONDS = 30.0
DEFERRED_SECONDS = 120.0
QUIET_SECONDS = 0.6
QUIET_LOOKS = 10
FATES = {"SendAccepted", "SendUncertain", "SendFailed", "SendRefused", "DispatchRefused"}
TURN_ENDS = {"silent", "skipped", "handed_off", "failed"}


def main(file: Path, *, json: bool, console: Console) -> int:
    """Run a script; 0 when every expectation held, 1 when one did not, 2 when the script cannot be read."""
    try:
        script = read(file.read_bytes())
    except msgspec.MsgspecError as error:
        console.print(f"[red]{file}: {error}[/]")
        return 2
    printed = run(script)
    if json:
        print(msgspec.json.encode(printed).decode())  # noqa: T201 - the command's output
    else:
        _show(printed, console)
    return 0 if printed["held"] else 1


def run(script: Script) -> dict[str, Any]:
    """Run a script on a fresh system; returns what the command prints."""
    with fresh_stack(overrides=script.environment, rules=_rules(script)) as stack:
        return run_on(stack, script)


def run_on(stack: Stack, script: Script) -> dict[str, Any]:
    """Run a script on a system that runs already, as far as the script asks for no settings of its own."""
    return asyncio.run(_run(script, stack.layout, stack.superuser_url()))


async def _run(script: Script, layout: Layout, database_url: str) -> dict[str, Any]:
    observer = await Observer.open(database_url)
    async with httpx.AsyncClient(timeout=30) as client:
        teller = Teller(Outside(layout, client), observer)
        messages = [await teller.tell(says) for says in script.messages]
    await observer.close()
    held = all(one["held"] for message in messages for one in message["expectations"])
    return {"name": script.name, "held": held, "messages": messages}


@dataclass
class Teller:
    """Feeds messages, decides as people, and gathers what came of it."""

    outside: Outside
    observer: Observer

    async def tell(self, says: Says) -> dict[str, Any]:
        """One message of the customer with everything that followed."""
        for control in says.phone:
            await self.outside.phone(control["path"], **control.get("body", {}))
        await asyncio.sleep(says.after_seconds)
        seen = await self._count(says.chat)
        webhook = await self._post(says)
        conversation = await self.observer.conversation_of(says.chat)
        if conversation is not None and webhook["action"] == "inbound":
            await self._turn(conversation, seen, says)
        decisions = [await self._decide(one, conversation, says) for one in says.decisions]
        if conversation is not None:
            await self._quiet(conversation)
        printed = await self._gather(says, conversation, seen)
        printed = {"said": says.text, "webhook": webhook, **printed, "decisions": decisions}
        return {**printed, "expectations": check(printed, says.expect)}

    async def _count(self, chat: str) -> int:
        conversation = await self.observer.conversation_of(chat)
        return len(await self.observer.events(conversation)) if conversation else 0

    async def _post(self, says: Says) -> dict[str, Any]:
        body = says.payload or envelope(says.event, customer_message(says.chat, says.text, name=says.name))
        answer = await self.outside.webhook(body)
        found: dict[str, Any] = answer.json() if answer.content else {}
        return {"status": answer.status_code, "action": found.get("action", f"reject_{answer.status_code}")}

    async def _turn(self, conversation: str, seen: int, says: Says) -> None:
        """Until the message led to a filed draft, or to a turn that ended without one."""

        async def is_over() -> bool:
            new = (await self.observer.events(conversation))[seen:]
            return any(_ends_turn(event) for event in new)

        if says.until != "quiet":
            await until(is_over, TURN_SECONDS)

    async def _quiet(self, conversation: str) -> None:
        """Until nothing new was said for a moment: ticks and consent come by themselves."""
        for _ in range(QUIET_LOOKS):
            before = len(await self.observer.events(conversation))
            await asyncio.sleep(QUIET_SECONDS)
            if len(await self.observer.events(conversation)) == before:
                return

    # -------------------------------------------------------------------------------------------------- people's side

    async def _decide(self, decision: Decision, conversation: str | None, says: Says) -> dict[str, Any]:
        printed: dict[str, Any] = {"as": decision.person, "verb": decision.verb}
        if conversation is None:
            return {**printed, "status": 0, "problem": "the message opened no conversation"}
        before = len(await self.observer.events(conversation))
        if decision.verb in ("takeover", "return"):
            answer = await self._own(decision, conversation)
        else:
            answer = await self._vote(decision, conversation)
        if answer.is_success:
            await self._fate(decision, conversation, before, says)
            return {**printed, "status": answer.status_code}
        return {**printed, "status": answer.status_code, "problem": answer.json()}

    async def _own(self, decision: Decision, conversation: str) -> httpx.Response:
        versions = [e["version"] for e in await self.observer.events(conversation) if e["type"] == "OwnershipChanged"]
        body = {"expected_version": max(versions, default=0), "reason": decision.reason or ""}
        return await self.outside.post(decision.person, f"/v1/conversations/{conversation}/{decision.verb}", body)

    async def _vote(self, decision: Decision, conversation: str) -> httpx.Response:
        filed = [e for e in await self.observer.events(conversation) if e["type"] == "DraftFiled"]
        obligation = filed[-1]["obligation_id"] if filed else str(uuid4())
        item = await self.outside.get(decision.person, f"/v1/obligations/{obligation}")
        if not item.is_success:
            return item
        shown = item.headers["ETag"]
        if decision.epoch is not None:
            shown = f'"{decision.epoch}-{shown.strip(chr(34)).split("-", 1)[1]}"'
        body = {"verb": decision.verb, "edited_text": decision.text, "instruction": decision.instruction}
        body["reason"] = decision.reason
        found = {name: value for name, value in body.items() if value is not None}
        return await self.outside.decide(decision.person, obligation, shown, found)

    async def _fate(self, decision: Decision, conversation: str, before: int, says: Says) -> None:
        """After a decision: until it had its effect."""
        wanted = {*FATES, "DispatchDeferred"} if says.until == "deferred" else set(FATES)
        if decision.verb == "send_back":
            wanted = {"DraftFiled", "HandoffRequested"}
        elif decision.verb != "approve":
            return

        async def is_settled() -> bool:
            new = (await self.observer.events(conversation))[before:]
            return any(event["type"] in wanted for event in new)

        if not await until(is_settled, FATE_SECONDS):
            await until(is_settled, await self._deferred_for(conversation, before) + FATE_SECONDS)

    async def _deferred_for(self, conversation: str, before: int) -> float:
        """Seconds until what was put off is tried again, as far as a demo waits for it."""
        new = (await self.observer.events(conversation))[before:]
        retries = [msgspec.convert(event["retry_at"], datetime) for event in new if event["type"] == "DispatchDeferred"]
        seconds = max(((at - utc_now()).total_seconds() for at in retries), default=-FATE_SECONDS)
        return min(seconds, DEFERRED_SECONDS)

    # ------------------------------------------------------------------------------------------------------- printing

    async def _gather(self, says: Says, conversation: str | None, seen: int) -> dict[str, Any]:
        events: Sequence[Mapping[str, Any]] = []
        if conversation:
            events = (await self.observer.events(conversation))[seen:]
        rows = await self.outside.received(says.chat)
        return {
            "vetoes": [{"gate": e["gate"], "code": e["code"]} for e in events if e["type"] == "DraftVetoed"],
            "draft": _draft(events),
            "verdicts": _last_verdicts(events),
            "turn": _turn_printed(events),
            "events": [event["type"] for event in events],
            "received": [{"chat": row["chat"], "text": row["text"]} for row in rows],
            "ledger": _ledger(events),
        }


def _draft(events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    cleared = {e["draft_id"]: e for e in events if e["type"] == "DraftCleared"}
    filed = [e for e in events if e["type"] == "DraftFiled" and e["draft_id"] in cleared]
    if not filed:
        return None
    last = filed[-1]
    draft = cleared[last["draft_id"]]
    return {"obligation": last["obligation_id"], "epoch": last["epoch"], "body": draft["body"]}


def _last_verdicts(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    with_verdicts = [e for e in events if e.get("verdicts")]
    if not with_verdicts:
        return []
    return [
        {"gate": v["gate"], "outcome": v["outcome"], "code": v.get("code", "")} for v in with_verdicts[-1]["verdicts"]
    ]


def _turn_printed(events: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    closed = [e for e in events if e["type"] == "TurnClosed"]
    if not closed:
        return None
    return {name: closed[-1].get(name) for name in ("outcome", "reason", "checkpoint")}


def _ledger(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fates in order, and the last of them."""
    steps = [
        {"state": e["type"], "code": e.get("code", ""), "level": e.get("level", ""), "how": e.get("how", "")}
        for e in events
        if e["by"] in ("delivery", "approval") or e["type"].startswith("Dispatch")
    ]
    return {"state": steps[-1]["state"] if steps else "", "steps": steps}


def _ends_turn(event: Mapping[str, Any]) -> bool:
    if event["type"] in ("DraftFiled", "FilingRefused", "HandoffRequested"):
        return True
    return event["type"] == "TurnClosed" and event["outcome"] in TURN_ENDS


def _rules(script: Script) -> Mapping[str, Any]:
    if script.reply_window_opens_in_seconds is None:
        return RULES
    opens: datetime = utc_now() + timedelta(seconds=script.reply_window_opens_in_seconds)
    local = opens.astimezone(ZoneInfo("America/Sao_Paulo"))
    window = {
        "opens": local.time().isoformat(timespec="seconds"),
        "closes": (local - timedelta(minutes=20)).time().isoformat(timespec="seconds"),
    }
    return {**RULES, "reply_window": window}


def _show(printed: Mapping[str, Any], console: Console) -> None:
    for message in printed["messages"]:
        console.print(f"\n[bold]{message['said'] or message['webhook']['action']}[/]")
        for name in ("webhook", "vetoes", "draft", "turn", "decisions", "received", "ledger"):
            console.print(f"  {name}: {msgspec.json.encode(message[name]).decode()}", markup=False)
        for one in message["expectations"]:
            if not one["held"]:
                console.print(f"  [red]{one['path']}: wanted {one['wanted']!r}, found {one['found']!r}[/]")
    console.print("\n[green]every expectation held[/]" if printed["held"] else "\n[red]an expectation did not hold[/]")
