"""Three nats-servers that are one cluster, as production runs it: replicated streams, a leader that can be lost.

Laws
- Every node keeps its ports and its folder over restarts, so that peers and clients find it again.
- A store is taken from a node only while the others are complete: two losses at once are beyond what three copies
  promise.
"""

import json
import secrets
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from deploy.local.nats import Nats, start_nats
from deploy.local.ports import LOOPBACK, PortTakenError, require_free_port, wait_until

SIZE = 3
COMPLETE_WITHIN_SECONDS = 60.0
_PROBE_SECONDS = 2.0
_BLOCK = """
server_name: {name}
http: "{address}:{monitoring}"
cluster {{
  name: chancela
  listen: "{address}:{peers}"
  # clients keep to the addresses that they were given: a proxy between stays between
  no_advertise: true
  routes: [ {routes} ]
}}
"""


@dataclass(frozen=True)
class Node:
    """One of the three servers, with the folder of its streams."""

    name: str
    server: Nats
    monitoring_port: int
    store: Path

    def is_complete(self) -> bool:
        """Whether it runs, has caught up with its peers, and sees a leader of every stream and consumer."""
        try:
            self._asked("healthz")
            return all(self._leaders())
        except (urllib.error.URLError, OSError):  # refused, or answered that it is not healthy
            return False

    def leader_of(self, stream: str) -> str:
        """The node that leads a stream, as this one knows; empty when it knows none."""
        return next((one["cluster"].get("leader", "") for one in self._streams() if one["name"] == stream), "")

    def _leaders(self) -> Iterator[str]:
        for stream in self._streams():
            yield stream["cluster"].get("leader", "")
            yield from (one["cluster"].get("leader", "") for one in stream.get("consumer_detail", ()))

    def _streams(self) -> Iterator[Any]:
        for account in self._asked("jsz?streams=true&consumers=true").get("account_details", ()):
            yield from account.get("stream_detail", ())

    def _asked(self, page: str) -> Any:
        url = f"http://{LOOPBACK}:{self.monitoring_port}/{page}"
        with urllib.request.urlopen(url, timeout=_PROBE_SECONDS) as answer:
            return json.load(answer)


class Cluster:
    """The three together. Made by `start_cluster`."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes

    @property
    def urls(self) -> Sequence[str]:
        return [node.server.url for node in self.nodes.values()]

    def lacking(self) -> list[str]:
        """Nodes that do not run, or are behind."""
        return [node.name for node in self.nodes.values() if not node.is_complete()]

    def wait_complete(self, seconds: float = COMPLETE_WITHIN_SECONDS) -> None:
        """Until every node is complete.

        Raises:
            TimeoutError: one of them is not in time.
        """
        wait_until(lambda: not self.lacking(), seconds, "all three nats-servers are complete")

    def leader_of(self, stream: str) -> Node:
        """The node that leads a stream now, waiting for an election to end."""

        def found() -> Node | None:
            told = (node.leader_of(stream) for node in self.nodes.values() if node.server.is_running())
            return self.nodes.get(next(filter(None, told), ""))

        return wait_until(found, COMPLETE_WITHIN_SECONDS, f"{stream} has a leader")

    def lose_store(self, name: str) -> None:
        """Kill a node and take what it had stored; the caller starts it again, and its peers give it everything anew.

        Raises:
            RuntimeError: another node is not complete, and what this one holds may be the second copy.
        """
        behind = [one for one in self.lacking() if one != name]
        if behind:
            raise RuntimeError(f"{' and '.join(behind)} must be complete before {name} loses its store")
        self.nodes[name].server.kill()
        shutil.rmtree(self.nodes[name].store)

    def kill(self) -> None:
        """All three at once, as when the power of the room goes."""
        for node in self.nodes.values():
            node.server.kill()

    def restart(self) -> None:
        for node in self.nodes.values():
            node.server.restart()

    def stop(self) -> None:
        for node in self.nodes.values():
            node.server.stop()


def start_cluster(directory: Path, config: str, *, logs: Path, stores: Mapping[str, Path] | None = None) -> Cluster:
    """Start three servers in `directory`; return once they are one cluster.

    Args:
        directory: of the configuration and, unless told otherwise, of the stores.
        config: what they have in common: accounts and limits, no address, no name.
        logs: folder of a log for each.
        stores: where a node keeps its streams, instead of in `directory`.
    """
    names = [f"nats-{number}" for number in range(1, SIZE + 1)]
    ports = steady_ports(3 * SIZE)
    plan = {name: (next(ports), next(ports), next(ports)) for name in names}
    routes = ", ".join(f'"nats://{LOOPBACK}:{peers}"' for _, peers, _ in plan.values())
    nodes: dict[str, Node] = {}
    try:
        for name, (port, peers, monitoring) in plan.items():
            block = _BLOCK.format(name=name, address=LOOPBACK, peers=peers, monitoring=monitoring, routes=routes)
            store = (stores or {}).get(name, directory / name)
            file = directory / f"{name}.conf"
            file.write_text(f"{config}\n{block}", encoding="utf-8")
            file.chmod(0o600)
            options = ["-a", LOOPBACK, "-p", str(port), "-sd", str(store)]
            server = start_nats(file, log_file=logs / f"{name}.log", options=options)
            nodes[name] = Node(name, server, monitoring, store)
        cluster = Cluster(nodes)
        cluster.wait_complete()
    except BaseException:
        Cluster(nodes).stop()
        raise
    return cluster


def steady_ports(number: int) -> Iterator[int]:
    """Free ports below those that the kernel gives to outgoing connections: a server that is away keeps its own."""
    found = 0
    for port in count(secrets.SystemRandom().randrange(12_000, 30_000)):
        if found == number:
            return
        try:
            require_free_port(port, "a server of the cluster")
        except PortTakenError:
            continue
        found += 1
        yield port
