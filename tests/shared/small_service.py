"""`python -m tests.shared.small_service`: a service on the operator's schema that hears everything and does nothing."""

from contracts import topology
from shared.bus import Handlers
from shared.config import BusConfig
from shared.runtime import Service, main


def handlers(_config: BusConfig) -> Handlers:
    return Handlers(ignores=tuple(message for topic in topology.heard_by("operator") for message in topic.says))


async def app(scope: object, receive: object, send: object) -> None:
    """Pages, as any service with a port has them."""
    raise NotImplementedError(scope, receive, send)


if __name__ == "__main__":
    main(Service("operator", BusConfig, handlers, app=lambda _context: app))
