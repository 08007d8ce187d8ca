"""Certificates of one test run, made by trustme: what a server may show, and what a client may."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NOT_SO_LONG_AGO = datetime(2021, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Certificates:
    """`<name>.crt` and `<name>.key`; `ca.crt` is whom everybody trusts, `other-ca.crt` nobody."""

    folder: Path

    def cert(self, name: str) -> str:
        return str(self.folder / f"{name}.crt")

    def key(self, name: str) -> str:
        return str(self.folder / f"{name}.key")

    @property
    def ca(self) -> str:
        return self.cert("ca")

    def server_context(self, name: str, *, asks_client: bool = False) -> ssl.SSLContext:
        """Of a server in the test itself."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert(name), self.key(name))
        if asks_client:
            context.load_verify_locations(self.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def settings(self, prefix: str, *, ca: str = "", own: str = "") -> dict[str, str]:
        """Variables of a process."""
        named = {f"{prefix}_CA_FILE": self.cert(ca)} if ca else {}
        if own:
            named |= {f"{prefix}_CERT_FILE": self.cert(own), f"{prefix}_KEY_FILE": self.key(own)}
        return named


def make_certificates(folder: Path) -> Certificates:
    """Good ones, and one of each kind that must be refused."""
    trusted, other = trustme.CA(), trustme.CA()
    trusted.cert_pem.write_to_path(folder / "ca.crt")
    other.cert_pem.write_to_path(folder / "other-ca.crt")
    _write(folder, "server", trusted.issue_cert("localhost", "127.0.0.1"))
    _write(folder, "elsewhere", trusted.issue_cert("bus.example"))
    _write(
        folder, "expired", trusted.issue_cert("localhost", "127.0.0.1", not_before=LONG_AGO, not_after=NOT_SO_LONG_AGO)
    )
    _write(folder, "stranger", other.issue_cert("localhost", "127.0.0.1"))
    _write(folder, "client", trusted.issue_cert("operator@chancela.example"))
    _write(folder, "foreign-client", other.issue_cert("operator@chancela.example"))
    return Certificates(folder)


def _write(folder: Path, name: str, made: trustme.LeafCert) -> None:
    (folder / f"{name}.crt").write_bytes(b"".join(one.bytes() for one in made.cert_chain_pems))
    key = folder / f"{name}.key"
    made.private_key_pem.write_to_path(key)
    key.chmod(0o600)
