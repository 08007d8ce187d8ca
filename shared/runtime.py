"""A service's process: configuration, database, bus, HTTP servers; supervised, and stopped gracefully.

Order of a stop: not ready → no more pulls → work ends or is handed back → publish → close.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import socket
from typing import Any, Generic, TypeVar, cast

import msgspec
import uvicorn

from shared import config, log, retention
from shared.bus import Bus, Handlers, repair
from shared.bus.connection import Refused
from shared.bus.continuity import DatabaseRestored
from shared.config import BusConfig, ConfigError
from shared.db import TRANSIENT, Database
from shared.health import Health
from shared.migrate import why_not_current
from shared.tls import Names, check_dsn, speaks_tls, why_refused

_log = log.get(__name__)

C = TypeVar("C", bound=BusConfig)

CANCELLED_WITHIN_SECONDS = 2.0
SCHEMA_WAIT_SECONDS = 1.0


@dataclass(slots=True)
class Context(Generic[C]):
    """What the parts of a service are built from."""

    name: str
    config: C
    db: Database
    web_db: Database | None
    bus: Bus


@dataclass(frozen=True, slots=True)
class Service(Generic[C]):
    """A service, declared: its configuration, its handlers, and its pages if it has any."""

    name: str
    config: type[C]
    handlers: Callable[[C], Handlers]
    app: Callable[[Context[C]], Any] | None = None
    """Builds an ASGI application served on `http_port`."""
    start: Callable[[Context[C]], Awaitable[None]] | None = None
    """Runs when the database stands, before the process counts as started; again if the database went away in it."""
    forgets: tuple[retention.Class, ...] = ()
    """What of its own tables goes after its time; the bus's tables do in every service."""


def main(service: Service[C]) -> None:
    """Run a service until SIGTERM. Exit codes: 0 stopped, 1 a part failed, 2 wrong configuration, 3 refused by NATS."""
    try:
        settings = config.load(service.config, config.environment())
    except ConfigError as error:
        print(f"{service.name}: {error}", file=sys.stderr)  # noqa: T201 - the log needs the configuration that is missing
        sys.exit(2)
    log.configure(service.name, settings.log_level)
    try:
        asyncio.run(_run(service, settings), loop_factory=_loop_factory()) if sys.version_info >= (3, 12) else _run_311(
            service, settings
        )
    except BaseExceptionGroup as group:
        code = _exit_code(group)
        if code is None:
            raise
        sys.exit(code)


def _exit_code(group: BaseExceptionGroup[BaseException]) -> int | None:
    """Tell what a person has to mend, whatever else broke in its wake; None when it is a fault of ours."""
    code = None
    for error in dict.fromkeys(_leaves(group)):
        if isinstance(error, ConfigError):
            code = 2
            _log.error("wrong configuration", error=str(error))
        elif isinstance(error, Refused):
            code = code or 3
            _log.error("refused by NATS", error=str(error))
        elif isinstance(error, DatabaseRestored):
            code = code or 1
            _log.error("ending: what this process knows is of a past that the database has lost", error=str(error))
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


def _run_311(service: Service[C], settings: C) -> None:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(service, settings))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - where it exists
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _run(service: Service[C], settings: C) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    schema: list[str] = ["starting"]
    context_ref: list[Context[C]] = []

    async def check() -> str:
        if schema[0]:
            return schema[0]
        context = context_ref[0]
        if why_not := context.bus.why_not_ready():
            return why_not
        return "" if await context.db.is_alive() else "the database does not answer"

    async def look() -> repair.Standing | None:
        if not context_ref:
            return None
        context = context_ref[0]
        standing = await repair.standing(context.db, service.name)
        return msgspec.structs.replace(standing, stopped=context.bus.why_not_ready())

    health = Health(check, look)
    async with asyncio.TaskGroup() as group:
        probes = [group.create_task(server.serve()) for server in _probe_servers(settings, health)]
        work = group.create_task(_work(service, settings, health, schema, context_ref, stop))
        await work
        for task in probes:
            task.cancel()


async def _work(  # noqa: PLR0917 - private, called once; each is one thing
    service: Service[C],
    settings: C,
    health: Health,
    schema: list[str],
    context_ref: list[Context[C]],
    stop: asyncio.Event,
) -> None:
    context = await _begun(service, settings, schema, stop)
    if context is None:
        return
    context_ref.append(context)
    schema[0] = ""
    running = [
        asyncio.create_task(context.bus.run(), name="bus"),
        asyncio.create_task(retention.run(context.db, (*retention.BUS, *service.forgets)), name="retention"),
    ]
    server = None
    if service.app is not None:
        own = _certificate("CHANCELA_HTTP", settings.http_cert_file, settings.http_key_file)
        server = _server(service.app(context), settings.http_host, settings.http_port, own)
        running.append(asyncio.create_task(server.serve(), name="http"))
    health.is_started = True
    _log.info("started", http_port=settings.http_port if server else None, health_port=settings.health_port)
    stopping = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([stopping, *running], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        health.is_stopping = True
        if server is not None:
            if stop.is_set():
                await asyncio.sleep(settings.http_leave_seconds)
            server.should_exit = True
            await asyncio.wait([running[-1]], timeout=5)
        await context.bus.stop()
        await _ended([stopping, *running])
        opened = (context.db, context.web_db)
        await asyncio.gather(*(db.close() for db in opened if db is not None))
    _log.info("stopped")


async def _ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel, and wait a little: what hangs on a database that says nothing ends when its connection is cut."""
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks, timeout=CANCELLED_WITHIN_SECONDS)
    for task in done:
        if not task.cancelled():
            task.exception()  # told before, or of no more use to anybody


async def _begun(service: Service[C], settings: C, schema: list[str], stop: asyncio.Event) -> Context[C] | None:
    """The service after its own start, tried again while Postgres comes and goes; None when asked to stop first."""
    while await _schema_is_there(service.name, settings, schema, stop):
        opened: list[Database] = []
        try:
            context = await _context(service, settings, opened)
            if service.start is not None:
                await service.start(context)
        except TRANSIENT as error:
            schema[0] = f"the database went away at the start: {error!r}"
            _log.warning("starting again", why=schema[0])
            await asyncio.gather(*(db.close() for db in opened))
            await _asked(stop, SCHEMA_WAIT_SECONDS)
        else:
            return context
    return None


async def _asked(stop: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until the process is asked to stop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def _schema_is_there(name: str, settings: BusConfig, schema: list[str], stop: asyncio.Event) -> bool:
    """Wait for this release's schema; a migration job may still be running."""
    check_dsn("CHANCELA_DATABASE_URL", settings.database_url)
    check_dsn("CHANCELA_DATABASE_WEB_URL", settings.database_web_url)
    while not stop.is_set():
        try:
            why_not = await why_not_current(settings.database_url, name)
        except TRANSIENT as error:
            if why := why_refused(error, Names.in_dsn("CHANCELA_DATABASE_URL")):
                raise ConfigError(why) from error
            why_not = f"the database does not answer: {error!r}"
        if not why_not:
            return True
        schema[0] = why_not
        _log.warning("waiting", why=why_not)
        await _asked(stop, SCHEMA_WAIT_SECONDS)
    return False


async def _context(service: Service[C], settings: C, opened: list[Database]) -> Context[C]:
    db = await Database.connect(
        settings.database_url,
        schema=service.name,
        name=f"chancela-{service.name}",
        statement_cache_size=settings.statement_cache_size,
    )
    opened.append(db)
    web_db = None
    if settings.database_web_url:
        web_db = await Database.connect(
            settings.database_web_url,
            schema=service.name,
            name=f"chancela-{service.name}-web",
            statement_cache_size=settings.statement_cache_size,
        )
        opened.append(web_db)
    bus = Bus(service.name, settings, db, service.handlers(settings))
    return Context(service.name, settings, db, web_db, bus)


class _Server(uvicorn.Server):
    """A server that leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Nothing: `_run` listens. Else every server would close at once, probes first, before any work has ended."""
        yield

    async def serve(self, sockets: list[socket] | None = None) -> None:
        """Serve until asked to exit; uvicorn would end the process with a code that means something else here."""
        try:
            await super().serve(sockets)
        except SystemExit as error:
            where = f"{self.config.host}:{self.config.port}"
            raise ConfigError(f"cannot listen on {where}; see CHANCELA_{{HEALTH,METRICS,HTTP}}_PORT") from error


def _server(app: Any, host: str, port: int, certificate: tuple[str, str] | None) -> uvicorn.Server:
    cert_file, key_file = certificate or (None, None)
    options = uvicorn.Config(
        app, host=host, port=port, log_config=None, access_log=False, lifespan="off", server_header=False,
        date_header=False, timeout_graceful_shutdown=5, ssl_certfile=cert_file, ssl_keyfile=key_file,
    )  # fmt: skip
    return _Server(options)


def _probe_servers(settings: BusConfig, health: Health) -> list[uvicorn.Server]:
    ports = dict.fromkeys((settings.health_port, settings.metrics_port))
    own = _certificate("CHANCELA_HEALTH", settings.health_cert_file, settings.health_key_file)
    return [_server(health, settings.health_host, port, own) for port in ports]


def _certificate(prefix: str, cert_file: str, key_file: str) -> tuple[str, str] | None:
    return (cert_file, key_file) if speaks_tls(Names.of(prefix), cert_file, key_file) else None
