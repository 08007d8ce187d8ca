"""Configuration comes from the environment, once, at start: a frozen struct per service.

A field `nats_url` is read from `CHANCELA_NATS_URL`; `CHANCELA_NATS_URL_FILE` names a file instead (secrets). A missing
or wrong value stops the process with the variable's name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

PREFIX = "CHANCELA_"


class ConfigError(Exception):
    """The environment does not describe a working service; the message names the variable."""


class BusConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What every service needs."""

    database_url: str
    """Connection of the role `<service>_bus`."""
    database_web_url: str = ""
    """Connection of the role `<service>_web`; only services with pages have one."""
    nats_url: str
    """One address, or several separated by commas."""
    nats_seed: str
    """NKEY seed of this service's own account."""
    nats_ca_file: str = ""
    """Authorities of the server's certificate (PEM). Set: the connection begins with TLS, or there is none."""
    nats_cert_file: str = ""
    """Our certificate for NATS (PEM), where the server asks for one; with `nats_key_file`."""
    nats_key_file: str = ""
    nats_ping_seconds: float = 10.0
    """A link to NATS that says nothing any more is given up after three of these."""
    digest_key: str
    """Keys the digests that recognise a repeated payload after its text was erased."""
    health_host: str = "0.0.0.0"  # noqa: S104 - probes come from the node, not from loopback
    health_port: int = 8081
    metrics_port: int = 9090
    http_host: str = "0.0.0.0"  # noqa: S104 - the pod's own network
    http_port: int = 8080
    http_leave_seconds: float = 0.0
    """After SIGTERM: not ready, and still serving. Whoever sends requests here learns only later that it is leaving."""
    http_cert_file: str = ""
    """Certificate of pages and webhooks (PEM), with `http_key_file`: that port then speaks TLS alone."""
    http_key_file: str = ""
    health_cert_file: str = ""
    """As `http_cert_file`, of probes and metrics."""
    health_key_file: str = ""
    log_level: str = "info"
    lease_seconds: float = 10.0
    poll_seconds: float = 0.5
    slow_concurrency: int = 16
    """Slow jobs of this process at once; they wait for others (a model, a channel), not for this machine."""
    slow_per_tenant: int = 12
    """Of one tenant at once, in this process: the rest is for the others."""
    timer_concurrency: int = 4
    """Timers at once: slots of their own, so that no slow work delays them."""
    statement_cache_size: int = 512
    """0 behind a transaction-pooling PgBouncer older than 1.21."""
    parked_after_attempts: int = 8
    parking_limit: int = 20
    """So many parked of one kind within the window, none having run: hearing stops instead of parking on."""
    parking_window_seconds: float = 300.0
    probe_seconds: float = 30.0
    """While it is stopped, one message each such interval is tried; when it runs, everything goes on."""


C = TypeVar("C")


def environment() -> Mapping[str, str]:
    return os.environ


def load(kind: type[C], environ: Mapping[str, str]) -> C:
    """Read a configuration struct.

    Raises:
        ConfigError: a variable is missing, unreadable or of the wrong form.
    """
    found: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):  # pyright: ignore[reportArgumentType] - C is a Struct; TypeVar bounds cannot say DataclassInstance-like
        name = PREFIX + field.name.upper()
        value = _value(name, environ)
        if value is not None:
            found[field.name] = value
        elif field.required:
            raise ConfigError(f"{name} is not set (or {name}_FILE); what it means stands in the service's config.py")
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, field = str(error).partition(" - at `$.")
        raise ConfigError(f"{PREFIX}{field.strip('`').upper() or '*'}: {what}") from error


def _value(name: str, environ: Mapping[str, str]) -> str | None:
    """What the variable says; one that is set to nothing counts as not set."""
    path = environ.get(f"{name}_FILE")
    if not path:
        return environ.get(name) or None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except OSError as error:
        raise ConfigError(f"{name}_FILE={path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}_FILE={path} is not text") from error
