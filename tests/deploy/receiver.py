"""A webhook's receiving end: keeps raw bytes and headers, and answers as it is told."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.deploy.programs import wait_until


@dataclass(frozen=True)
class Posted:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        return json.loads(self.body)


@dataclass
class Receiver:
    url: str = ""
    posted: list[Posted] = field(default_factory=list[Posted])
    refusals: int = 0

    def status(self) -> int:
        if self.refusals:
            self.refusals -= 1
            return 503
        return 200

    def events(self, name: str) -> list[Posted]:
        return [one for one in self.posted if one.event["event"] == name]

    def wait_for(self, name: str, count: int = 1) -> list[Posted]:
        wait_until(lambda: len(self.events(name)) >= count, f"{count} × {name}")
        return self.events(name)


@contextmanager
def receiving() -> Generator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.posted.append(Posted(dict(self.headers), body))
            self.send_response(receiver.status())
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}/webhooks/waha"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
