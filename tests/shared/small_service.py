"""`python -m tests.shared.small_service`: a service on the operator's schema that hears everything and does nothing."""

import os

from contracts import topology
from shared.bus import Handlers
from shared.config import BusConfig
from shared.runtime import Context, Service, main


def handlers(_config: BusConfig) -> Handlers:
    return Handlers(ignores=tuple(message for topic in topology.heard_by("operator") for message in topic.says))


_starts = int(os.environ.get("STARTS_THAT_LOSE_THE_DATABASE", "0"))


async def start(context: Context[BusConfig]) -> None:
    """Ends its own session, so many times: as a database does that restarts."""
    global _starts  # noqa: PLW0603 - a process of its own
    if _starts:
        _starts -= 1
        async with context.db.autocommit() as tx:
            await tx.execute("select pg_terminate_backend(pg_backend_pid())")


async def app(scope: object, receive: object, send: object) -> None:
    """Pages, as any service with a port has them."""
    raise NotImplementedError(scope, receive, send)


if __name__ == "__main__":
    main(Service("operator", BusConfig, handlers, app=lambda _context: app, start=start))
