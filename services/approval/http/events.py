"""Server-sent events: what changed, as kinds, ids and versions; never a text.

One task reads the feed for all open pages. A page that was away names the last event that it had; when the feed no
longer holds what came after, it is told to look at everything anew.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from uuid import UUID

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from services.approval import metrics
from services.approval.http.signing import Reader
from services.approval.store import changes
from services.approval.store.changes import Change, Position
from shared import log
from shared.db import TRANSIENT, Database

POLL_SECONDS = 0.1
KEEP_ALIVE_SECONDS = 15.0
QUEUE_LIMIT = 1000
_log = log.get(__name__)

router = APIRouter(tags=["events"])


class Watcher:
    """An open page."""

    def __init__(self, tenant: UUID) -> None:
        self.tenant = tenant
        self.changes: asyncio.Queue[Change] = asyncio.Queue(QUEUE_LIMIT)
        self.is_behind = False

    def tell(self, change: Change) -> None:
        if self.changes.full():
            self.is_behind = True
        else:
            self.changes.put_nowait(change)


class Feed:
    """Reads what changed while somebody watches, and tells each page its tenant's share."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._position = Position(0, 0)

    async def join(self, tenant: UUID) -> tuple[Watcher, Position]:
        """A watcher that misses nothing after the position."""
        watcher = Watcher(tenant)
        if self._task is None or self._task.done():
            async with self._db.autocommit() as tx:
                self._position = await changes.head(tx)
            self._task = asyncio.create_task(self._read())
            self._task.add_done_callback(self._all_are_behind)
        self._watchers.add(watcher)
        metrics.WATCHERS.set(len(self._watchers))
        return watcher, self._position

    @property
    def watchers(self) -> frozenset[Watcher]:
        return frozenset(self._watchers)

    def leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        metrics.WATCHERS.set(len(self._watchers))

    async def missed(self, tenant: UUID, since: Position, until: Position) -> list[Change] | None:
        """What a page that was away did not see; None when that is no longer known."""
        async with self._db.autocommit() as tx:
            if not await changes.is_kept(tx, since):
                return None
            found = await changes.since(tx, since)
        if len(found) == changes.READ_AT_ONCE:
            return None
        return [one for one in found if one.tenant == tenant and one.position <= until]

    async def _read(self) -> None:
        while self._watchers:
            found = await self._poll()
            for change in found:
                self._position = change.position
                for watcher in self._watchers:
                    if watcher.tenant == change.tenant:
                        watcher.tell(change)
            if len(found) < changes.READ_AT_ONCE:
                await asyncio.sleep(POLL_SECONDS)

    async def _poll(self) -> Sequence[Change]:
        try:
            async with self._db.autocommit() as tx:
                return await changes.since(tx, self._position)
        except TRANSIENT as error:
            _log.warning("the feed of changes waits for Postgres", error=repr(error))
            return []

    def _all_are_behind(self, _task: "asyncio.Task[None]") -> None:
        """The reader ended: whoever still watches must come back and look anew."""
        for watcher in self._watchers:
            watcher.is_behind = True


@router.get("/v1/events", summary="What changed, live (server-sent events)")
async def events(request: Request, person: Reader) -> StreamingResponse:
    """`event: change` with `{"kind", "id", "version"}`; `event: resync` = look at everything anew."""
    feed: Feed = request.app.state.feed
    since = Position.parse(request.headers.get("last-event-id", ""))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(stream(feed, person.tenant, since), media_type="text/event-stream", headers=headers)


async def stream(feed: Feed, tenant: UUID, since: Position | None) -> AsyncGenerator[bytes]:
    """One page's events, until it goes away."""
    watcher, position = await feed.join(tenant)
    try:
        missed = await feed.missed(tenant, since, position) if since is not None and since < position else []
        if missed is None:
            yield _event("resync", "{}", position)
            missed = []
        for change in missed:
            yield _changed(change)
        yield _event("hello", "{}", position)
        while not watcher.is_behind:
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    change = await watcher.changes.get()
            except TimeoutError:
                yield b": still here\n\n"
            else:
                yield _changed(change)
        yield _event("resync", "{}", position)
    finally:
        feed.leave(watcher)


def _changed(change: Change) -> bytes:
    body = msgspec.json.encode({"kind": change.kind, "id": change.id, "version": change.version}).decode()
    return _event("change", body, change.position)


def _event(name: str, body: str, position: Position) -> bytes:
    return f"id: {position}\nevent: {name}\ndata: {body}\n\n".encode()
