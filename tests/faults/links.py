"""The links of one pod to every nats-server and both PostgreSQL, through proxies that can cut, freeze and slow them."""

import random
from collections.abc import Sequence
from contextlib import ExitStack

from deploy.local.ports import LOOPBACK
from tests.links.proxy import Proxy, Remote, running

SLOW_BYTES_PER_SECOND = 200_000
SLOWEST_SECONDS = 0.03


class Links:
    """Proxies of one pod. Close it at the end."""

    def __init__(self, nats_urls: Sequence[str], postgres_ports: Sequence[int], seed: int) -> None:
        self._open = ExitStack()
        self._nats = [self._open.enter_context(running(Proxy.to(url))) for url in nats_urls]
        self._postgres = [self._open.enter_context(running(Proxy(LOOPBACK, port))) for port in postgres_ports]
        self._chance = random.Random(f"links-{seed}")

    @property
    def nats_urls(self) -> Sequence[str]:
        return [remote.proxy.url for remote in self._nats]

    @property
    def postgres_ports(self) -> Sequence[int]:
        return [remote.proxy.port for remote in self._postgres]

    def cut(self) -> None:
        """Reset every connection that stands."""
        for remote in self._all():
            remote.do(remote.proxy.cut)

    def freeze(self) -> None:
        """Half-open: connections stand, also new ones, and nothing goes through."""
        for remote in self._all():
            remote.do(lambda proxy=remote.proxy: proxy.freeze(new=True))

    def thaw(self) -> None:
        for remote in self._all():
            remote.do(remote.proxy.thaw)

    def slow(self) -> None:
        """Few bytes a second, and each piece late by a chance of its own: connections overtake each other."""
        for remote in self._all():
            for way in (remote.proxy.there, remote.proxy.back):
                way.bytes_per_second, way.delay = SLOW_BYTES_PER_SECOND, self._late

    def fast(self) -> None:
        for remote in self._all():
            for way in (remote.proxy.there, remote.proxy.back):
                way.bytes_per_second, way.delay = None, None

    def close(self) -> None:
        self._open.close()

    def _late(self) -> float:
        return self._chance.uniform(0, SLOWEST_SECONDS)

    def _all(self) -> Sequence[Remote]:
        return [*self._nats, *self._postgres]
