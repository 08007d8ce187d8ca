"""TLS from the settings that name its files, and its refusals in words for people, who find the setting there."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from shared.config import ConfigError

EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED
NOT_YET_VALID = 9  # X509_V_ERR_CERT_NOT_YET_VALID
OTHER_NAME = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
NO_TLS_THERE = "WRONG_VERSION_NUMBER"
OURS_REFUSED = ("CERTIFICATE_REQUIRED", "UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "CERTIFICATE_UNKNOWN")
"""In the server's alert."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a person looks at: the settings of one connection."""

    url: str
    authorities: str
    certificate: str
    key: str

    @classmethod
    def of(cls, prefix: str) -> "Names":
        return cls(f"{prefix}_URL", f"{prefix}_CA_FILE", f"{prefix}_CERT_FILE", f"{prefix}_KEY_FILE")

    @classmethod
    def in_dsn(cls, setting: str) -> "Names":
        """A Postgres connection names its files in its query, as libpq does."""
        return cls(setting, *(f"{setting} ({word})" for word in ("sslrootcert", "sslcert", "sslkey")))


NATS = Names.of("CHANCELA_NATS")


def client_context(names: Names, ca_file: str, cert_file: str = "", key_file: str = "") -> ssl.SSLContext | None:
    """What a client needs to verify a server, and to show a certificate of its own; None without any file.

    Args:
        names: of the settings.
        ca_file: certificates of authorities (PEM), these alone; empty: those of the system.
        cert_file: our certificate with its chain (PEM).
        key_file: its key (PEM, without a password).

    Raises:
        ConfigError: a file is missing or is not what its setting says.
    """
    if not (ca_file or cert_file or key_file):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if ca_file else ssl.create_default_context()
    if ca_file:
        _load_authorities(context, names, ca_file)
    _load_own(context, names, cert_file, key_file)
    return context


def speaks_tls(names: Names, cert_file: str, key_file: str) -> bool:
    """Whether a port of ours has a certificate.

    Raises:
        ConfigError: as above.
    """
    return _load_own(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), names, cert_file, key_file)


def check_dsn(setting: str, url: str) -> None:
    """The files that a Postgres connection names, before the driver tells of them in words of its own.

    Raises:
        ConfigError: as above.
    """
    named = parse_qs(urlsplit(url).query)
    files = [named.get(word, [""])[0] for word in ("sslrootcert", "sslcert", "sslkey")]
    client_context(Names.in_dsn(setting), *files)


def why_refused(error: BaseException, names: Names) -> str:
    """Words for a TLS refusal that only a person can mend; empty when the error is another one."""
    refusal = _refusal_in(error)
    if isinstance(refusal, ssl.SSLCertVerificationError):
        return _why_theirs(refusal, names)
    reason = (refusal.reason or "") if refusal else ""
    if reason == NO_TLS_THERE:
        return f"the server of {names.url} does not begin with TLS, as {names.authorities} asks"
    if any(word in reason for word in OURS_REFUSED):
        return f"the server does not accept our certificate, {names.certificate}: {reason.lower().replace('_', ' ')}"
    return ""


def _why_theirs(refusal: ssl.SSLCertVerificationError, names: Names) -> str:
    if refusal.verify_code == EXPIRED:
        return f"the certificate of the server of {names.url} has expired: renew it there (or our clock is wrong)"
    if refusal.verify_code == NOT_YET_VALID:
        return f"the certificate of the server of {names.url} is not valid yet: one of the two clocks is wrong"
    if refusal.verify_code in OTHER_NAME:
        return f"the server's certificate is for another host than {names.url} says: {refusal.verify_message}"
    return f"the server's certificate is not from an authority of {names.authorities}: {refusal.verify_message}"


def _refusal_in(error: BaseException | None) -> ssl.SSLError | None:
    """Drivers wrap it."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _load_authorities(context: ssl.SSLContext, names: Names, path: str) -> None:
    _require(names.authorities, path)
    try:
        context.load_verify_locations(cafile=path)
    except ssl.SSLError as error:
        raise ConfigError(f"{names.authorities}: {path} holds no certificates in PEM form") from error


def _load_own(context: ssl.SSLContext, names: Names, cert_file: str, key_file: str) -> bool:
    if not (cert_file or key_file):
        return False
    if not (cert_file and key_file):
        raise ConfigError(f"{names.certificate} and {names.key} belong together: set both or neither")
    _require(names.certificate, cert_file)
    _require(names.key, key_file)
    try:
        context.load_cert_chain(cert_file, key_file, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"{names.certificate} and {names.key}: {cert_file} and {key_file} are no certificate and its key "
            f"(PEM, without a password): {error}"
        ) from error
    return True


def _no_password() -> str:
    """Else OpenSSL would ask on the terminal."""
    return ""


def _require(setting: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"{setting}: {path} cannot be read: {error.strerror}") from error
