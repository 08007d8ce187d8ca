"""TLS on every wire: who is not the one that we trust is refused in words that name the setting; nothing goes plain.

Real servers with certificates of trustme.
"""

import asyncio
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from contracts import topology
from contracts.topology import STREAMS
from deploy.cli import app
from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config, wanted_streams
from deploy.local.ports import free_port
from deploy.local.processes import Child, Command
from shared.bus.connection import Connection
from shared.bus.setup import Setup, SetupError
from shared.config import ConfigError
from shared.tls import NATS, Names, client_context, speaks_tls
from tests.harness import PASSWORD, drop_database, new_database, within
from tests.rights.certificates import Certificates, make_certificates
from tests.rights.process import ask, readiness
from tests.rights.tls_front import tls_front
from tests.servers import NatsServer, NatsServerFactory, PostgresServer
from tests.shared.world import until

ROOT = Path(__file__).parents[2]
Operator = Callable[[Mapping[str, str]], Child]
REFUSED: Mapping[str, tuple[str, str]] = {
    "expired": ("expired", "has expired"),
    "for another host": ("elsewhere", "is for another host than CHANCELA_NATS_URL says"),
    "of another authority": ("stranger", "is not from an authority of CHANCELA_NATS_CA_FILE"),
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    create_keys(folder)
    return folder


# ---------------------------------------------------------------------------------------------------------------- NATS


def nats_tls(certificates: Certificates, name: str, *, asks_client: bool = False) -> str:
    """As deploy/runbooks/tls.md says."""
    asks = f'ca_file: "{certificates.ca}", verify: true' if asks_client else ""
    return (
        f'\ntls {{ cert_file: "{certificates.cert(name)}", key_file: "{certificates.key(name)}", '
        f'handshake_first: "auto", timeout: 10, {asks} }}\n'
    )


def start(factory: NatsServerFactory, keys: Path, tls: str) -> NatsServer:
    return factory(server_config(keys) + tls)


async def connect(server: NatsServer, keys: Path, tls: ssl.SSLContext | None) -> None:
    connection = Connection(server.url, read_key(keys, "operator.nk"), "operator", tls)
    try:
        await within(connection.open(), 20)
    finally:
        await connection.close()


async def test_a_certificate_of_the_trusted_authority_is_accepted(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, "server"))
    await connect(server, keys, client_context(NATS, certificates.ca))


@pytest.mark.parametrize(("name", "words"), REFUSED.values(), ids=REFUSED)
async def test_another_certificate_ends_the_start_and_names_the_setting(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path, name: str, words: str
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, name))
    with pytest.raises(ConfigError, match=words):
        await connect(server, keys, client_context(NATS, certificates.ca))


async def test_without_an_authority_of_ours_the_systems_ones_judge(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, "server"))
    with pytest.raises(ConfigError, match="CHANCELA_NATS_CA_FILE"):
        await connect(server, keys, None)


async def test_a_server_without_tls_gets_no_plain_word_from_us(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path
) -> None:
    """The client library alone would go on in plain text, as the server's first words decide for it."""
    server = start(nats_server_factory, keys, "")
    with pytest.raises(ConfigError, match="does not begin with TLS, as CHANCELA_NATS_CA_FILE asks"):
        await connect(server, keys, client_context(NATS, certificates.ca))
    assert server.local is not None
    assert "operator" not in server.local.log_file.read_text()


@pytest.mark.parametrize("own", ["", "foreign-client"])
async def test_a_server_that_asks_for_a_certificate_refuses_us_without_a_good_one(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path, own: str
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, "server", asks_client=True))
    shown = (certificates.cert(own), certificates.key(own)) if own else ()
    with pytest.raises(ConfigError, match="does not accept our certificate, CHANCELA_NATS_CERT_FILE"):
        await connect(server, keys, client_context(NATS, certificates.ca, *shown))


async def test_a_server_that_asks_for_a_certificate_takes_ours(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, "server", asks_client=True))
    shown = certificates.cert("client"), certificates.key("client")
    await connect(server, keys, client_context(NATS, certificates.ca, *shown))


async def test_a_certificate_that_turns_bad_later_ends_nothing_and_is_told(
    nats_server_factory: NatsServerFactory,
    certificates: Certificates,
    keys: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The process keeps taking webhooks and decisions in; when the server is mended, the bus is back."""
    server = start(nats_server_factory, keys, nats_tls(certificates, "server"))
    assert server.local is not None
    config = server.local.log_file.with_name("nats.conf")
    good = config.read_text()
    connection = Connection(
        server.url, read_key(keys, "operator.nk"), "operator", client_context(NATS, certificates.ca)
    )
    await connection.open()
    config.write_text(
        good.replace(certificates.cert("server"), certificates.cert("expired")).replace(
            certificates.key("server"), certificates.key("expired")
        )
    )
    await asyncio.to_thread(server.local.restart)

    async def is_told() -> bool:
        return any("has expired" in str(record.__dict__) for record in caplog.records)

    await until(is_told, 30)
    assert not connection.fatal.done()
    config.write_text(good)
    await asyncio.to_thread(server.local.restart)

    async def is_back() -> bool:
        return connection.is_connected

    await until(is_back, 30)
    await connection.close()


async def test_the_setup_job_speaks_tls_too(
    nats_server_factory: NatsServerFactory, certificates: Certificates, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(nats_server_factory, keys, nats_tls(certificates, "server", asks_client=True))
    for name, value in certificates.settings("CHANCELA_NATS", ca="ca", own="client").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CHANCELA_NATS_URL", server.url)
    monkeypatch.setenv("CHANCELA_NATS_ADMIN_SEED_FILE", str(keys / "admin.nk"))
    applied = await asyncio.to_thread(CliRunner().invoke, app, ["bus", "apply"])
    assert (applied.exit_code, applied.stdout.count("missing")) == (
        0,
        len(STREAMS) + len(list(topology.consumers())),
    ), applied.output
    monkeypatch.setenv("CHANCELA_NATS_CA_FILE", certificates.cert("other-ca"))
    refused = await asyncio.to_thread(CliRunner().invoke, app, ["bus", "check"])
    assert refused.exit_code == 3
    with pytest.raises(SetupError, match="not from an authority of CHANCELA_NATS_CA_FILE"):
        await Setup.open(
            server.url,
            read_key(keys, "admin.nk"),
            wanted_streams(),
            tls=client_context(NATS, certificates.cert("other-ca")),
        )


# ------------------------------------------------------------------------------------------------------------ settings


def test_a_file_that_is_missing_or_is_no_certificate_is_named_with_its_setting(
    certificates: Certificates, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    own, key = certificates.cert("client"), certificates.key("client")
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("/nowhere",), "CHANCELA_NATS_CA_FILE: /nowhere cannot be read: No such file"),
        ((str(empty),), "CHANCELA_NATS_CA_FILE: .* holds no certificates"),
        ((certificates.ca, own), "CHANCELA_NATS_CERT_FILE and CHANCELA_NATS_KEY_FILE belong together"),
        ((certificates.ca, own, "/nowhere"), "CHANCELA_NATS_KEY_FILE: /nowhere cannot be read"),
        ((certificates.ca, own, certificates.key("server")), "are no certificate and its key"),
        ((certificates.ca, key, own), "are no certificate and its key"),
    ]
    for files, words in wrong:
        with pytest.raises(ConfigError, match=words):
            client_context(NATS, *files)
    with pytest.raises(ConfigError, match="CHANCELA_HTTP_CERT_FILE and CHANCELA_HTTP_KEY_FILE belong together"):
        speaks_tls(Names.of("CHANCELA_HTTP"), "", key)
    assert client_context(NATS, "") is None
    assert not speaks_tls(NATS, "", "")


# ------------------------------------------------------------------------------------------------ a service, all wires


@pytest.fixture(scope="module")
def fronts(postgres_server: PostgresServer, certificates: Certificates) -> Iterator[Mapping[str, int]]:
    """Ports where the database is reached through TLS, by the certificate shown; `asks` wants one of the client too."""
    (folder,) = parse_qs(urlsplit(postgres_server.dsn("postgres")).query)["host"]
    socket = f"{folder}/.s.PGSQL.5432"
    with ExitStack() as stack:
        ports = {
            name: stack.enter_context(tls_front(socket, certificates.server_context(name)))
            for name in ("server", "elsewhere", "expired", "stranger")
        }
        ports["asks"] = stack.enter_context(tls_front(socket, certificates.server_context("server", asks_client=True)))
        yield ports


@pytest.fixture
async def database(postgres_server: PostgresServer) -> AsyncIterator[str]:
    name = await new_database(postgres_server, ["operator"])
    yield name
    await drop_database(postgres_server, name)


@pytest.fixture
async def environ(
    nats_server_factory: NatsServerFactory,
    certificates: Certificates,
    keys: Path,
    fronts: Mapping[str, int],
    database: str,
) -> dict[str, str]:
    """Of an operator with TLS on every wire."""
    plain = nats_server_factory(server_config(keys))
    await apply_streams(plain.url, keys)
    nats = start(nats_server_factory, keys, nats_tls(certificates, "server", asks_client=True))
    query = f"sslmode=verify-full&sslrootcert={certificates.ca}"
    query += f"&sslcert={certificates.cert('client')}&sslkey={certificates.key('client')}"
    return {
        "PATH": os.defpath,
        "CHANCELA_DATABASE_URL": f"postgresql://operator_bus:{PASSWORD}@127.0.0.1:{fronts['asks']}/{database}?{query}",
        "CHANCELA_NATS_URL": nats.url,
        "CHANCELA_NATS_SEED": read_key(keys, "operator.nk"),
        **certificates.settings("CHANCELA_NATS", ca="ca", own="client"),
        "CHANCELA_DIGEST_KEY": "d",
        "CHANCELA_HEALTH_HOST": "127.0.0.1",
        "CHANCELA_HEALTH_PORT": str(free_port()),
        "CHANCELA_METRICS_PORT": str(free_port()),
        "CHANCELA_HTTP_HOST": "127.0.0.1",
        "CHANCELA_HTTP_PORT": str(free_port()),
    }


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    """A factory of processes: environment in, child out."""
    children: list[Child] = []

    def run(environ: Mapping[str, str]) -> Child:
        log = tmp_path / f"operator{len(children)}.log"
        command = [sys.executable, "-m", "tests.shared.small_service"]
        children.append(Child("operator", Command(command, log_file=log, env=environ, directory=ROOT)))
        return children[-1]

    yield run
    for child in children:
        child.kill()


async def ended_with(child: Child) -> tuple[int, str]:
    async def has_ended() -> bool:
        return not child.is_running()

    await until(has_ended, 45)
    assert child.exit_code is not None
    return child.exit_code, child.log_tail(30)


async def test_a_service_with_tls_on_every_wire_serves_probes_and_pages_over_it(
    environ: dict[str, str], certificates: Certificates, operator: Operator
) -> None:
    own = certificates.settings("CHANCELA_HTTP", own="server") | certificates.settings("CHANCELA_HEALTH", own="server")
    child = operator({**environ, **own})
    ready = f"https://127.0.0.1:{environ['CHANCELA_HEALTH_PORT']}/readyz"

    def probe(*options: str) -> int:
        return CliRunner().invoke(app, ["probe", ready, *options]).exit_code

    async def is_ready() -> bool:
        assert child.is_running(), child.log_tail(40)
        return await asyncio.to_thread(probe) == 0

    await until(is_ready, 30)
    assert await asyncio.to_thread(probe, "--ca", certificates.ca) == 0
    assert await asyncio.to_thread(probe, "--ca", certificates.cert("other-ca")) == 1
    assert (await readiness(child))[0] == 0  # not over plain HTTP
    page = f"https://127.0.0.1:{environ['CHANCELA_HTTP_PORT']}/"
    context = ssl.create_default_context(cafile=certificates.ca)
    assert (await asyncio.to_thread(ask, page, context))[0] == 500  # the small service has no page; the wire is good
    child.ask_to_stop()
    assert (await ended_with(child))[0] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("elsewhere", "", ""), "is for another host than CHANCELA_DATABASE_URL says"),
        (("expired", "", ""), "of the server of CHANCELA_DATABASE_URL has expired"),
        (("stranger", "", ""), r"is not from an authority of CHANCELA_DATABASE_URL \(sslrootcert\)"),
        (("asks", "&sslcert=", "&passfile="), r"CHANCELA_DATABASE_URL \(sslcert\) and .* belong together"),
        (("server", "ca.crt", "no-ca.crt"), r"CHANCELA_DATABASE_URL \(sslrootcert\): .*no-ca.crt cannot be read"),
        (("server", "verify-full", "verify-all"), "CHANCELA_DATABASE_URL: .*sslmode.* must be one of"),
    ],
    ids=["another host", "expired", "another authority", "half a certificate", "no file", "no mode"],
)
async def test_a_database_that_is_not_the_trusted_one_ends_the_start_and_names_the_setting(
    environ: dict[str, str],
    fronts: Mapping[str, int],
    operator: Operator,
    wrong: tuple[str, str, str],
    words: str,
) -> None:
    """Each is a server and what of the connection is written otherwise."""
    front, as_is, instead = wrong
    url = environ["CHANCELA_DATABASE_URL"].replace(str(fronts["asks"]), str(fronts[front]))
    url = url.replace(as_is, instead) if as_is else url
    code, log = await ended_with(operator({**environ, "CHANCELA_DATABASE_URL": url}))
    assert code == 2
    assert re.search(words, log), log


async def test_a_database_without_tls_is_not_spoken_to(environ: dict[str, str], operator: Operator) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.write(b"N")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", port := free_port()):
        url = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", environ["CHANCELA_DATABASE_URL"])
        code, log = await ended_with(operator({**environ, "CHANCELA_DATABASE_URL": url}))
    assert code == 2
    assert "CHANCELA_DATABASE_URL asks for TLS (sslmode), and the server has none" in log
