"""nats-py as everybody uses it: what the bench measures against. The only importer of nats beside `shared.bus`.

Its types are partly unknown, so what it gives out is Any here.
"""

from typing import Any

import nats
import nats.js.errors

Client = Any
Message = Any
NotFound = nats.js.errors.NotFoundError


async def connect(url: str, **options: Any) -> Client:
    """`nats.connect`."""
    return await nats.connect(url, **options)  # pyright: ignore[reportUnknownMemberType] - untyped options
