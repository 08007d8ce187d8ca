"""Keys and passwords of one installation, made once: NKEYs of every identity, seal keys, digest keys, role passwords.

On a cluster the same files live in secrets (`deploy/README.md`); on a laptop they stand in one 0700 folder.

Laws
- The folder alone says what is valid: `python -m deploy.handout`, `python -m deploy.roles` and a reload of NATS make
  the world agree with it, any number of times.
- While a credential rotates (`deploy/rotate.py`) two of it are valid: `<name>.next` is accepted and not yet used,
  `<name>.previous` is accepted and no longer used.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import nkeys

from contracts.generate import users_variable
from contracts.topology import SERVICES
from shared import seal
from shared.clock import utc_now

IDENTITIES = ("sys", "admin", "auditor", *SERVICES)
SEALS = {"approval": seal.APPROVAL, "guardrails": seal.CLEARANCE, "delivery": seal.RECEIPT}
SIGNING_DAYS = 366
RUNNING_KINDS = ("bus", "web")
"""Roles that running processes use. The owner's password is used by the migration job alone."""


class Login(NamedTuple):
    """Who enters the database, and with what."""

    name: str
    password: str


def create_keys(folder: Path, *, now: datetime | None = None) -> None:
    """Make what is missing in `folder`; what exists is left as it is."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for identity in IDENTITIES:
        _once(folder / f"{identity}.nk", new_seed)
    for service in SERVICES:
        _once(folder / f"{service}.digest", lambda: secrets.token_hex(32))
        for kind in ("owner", *RUNNING_KINDS):
            _once(folder / f"{service}_{kind}.password", new_password)
    for name in ("waha.hmac", "waha.api"):
        _once(folder / name, lambda: secrets.token_hex(24))
    _create_seals(folder, (now or utc_now()) + timedelta(days=SIGNING_DAYS))


def _create_seals(folder: Path, sign_until: datetime) -> None:
    ring = folder / "seal-ring.json"
    if ring.exists():
        return
    public: list[seal.PublicKey] = []
    for service, kind in SEALS.items():
        key, known = seal.new_key(f"{service}-{secrets.token_hex(4)}", kind, sign_until=sign_until)
        _once(folder / f"{service}.seal", lambda key=key: msgspec.json.encode(key).decode())
        public.append(known)
    _once(ring, lambda: msgspec.json.encode(public).decode())


def new_seed() -> str:
    """A fresh NKEY seed of a user."""
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)  # pyright: ignore[reportUnknownMemberType] - untyped library
    return seed.decode()


def new_password() -> str:
    return secrets.token_urlsafe(24)


def _once(path: Path, make: Callable[[], str]) -> None:
    if not path.exists():
        write_secret(path, make())


def write_secret(path: Path, content: str) -> None:
    """Readable by its owner alone, whole or not at all: a crash leaves the old file."""
    aside = path.with_name(f".{path.name}.new")
    aside.unlink(missing_ok=True)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def read_key(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8").strip()


# --------------------------------------------------------------------------------------------------------------- NATS


def public_nkeys(folder: Path) -> Mapping[str, str]:
    """`CHANCELA_NKEY_<IDENTITY>` → the public key in use."""
    return {f"CHANCELA_NKEY_{one.upper()}": public_key(read_key(folder, f"{one}.nk")) for one in IDENTITIES}


def accepted_nkeys(folder: Path, identity: str) -> list[str]:
    """Public keys that NATS accepts for an identity: the one in use, and the other one while it rotates."""
    keys = [public_key(read_key(folder, f"{identity}.nk"))]
    if (folder / f"{identity}.nk.next").exists():
        keys.append(public_key(read_key(folder, f"{identity}.nk.next")))
    if (folder / f"{identity}.nk.previous").exists():
        keys.append(read_key(folder, f"{identity}.nk.previous"))
    return list(dict.fromkeys(keys))


def nats_users(folder: Path) -> str:
    """Configuration of nats-server: the variables that `deploy/nats/accounts.conf` names."""
    return "".join(f"{users_variable(one)}: {_users(accepted_nkeys(folder, one))}\n" for one in IDENTITIES)


def _users(keys: list[str]) -> str:
    return "[ " + ", ".join(f"{{ nkey: {key} }}" for key in keys) + " ]"


def public_key(seed: str) -> str:
    pair: Any = nkeys.from_seed(seed.encode())  # pyright: ignore[reportUnknownMemberType] - untyped library
    return pair.public_key.decode()


# ----------------------------------------------------------------------------------------------------------- Postgres


def login_in_use(folder: Path, role: str) -> Login:
    """What a service uses for one of its roles. The file holds `PASSWORD`, or `NAME PASSWORD` after a rotation."""
    *name, password = read_key(folder, f"{role}.password").split(maxsplit=1)
    return Login(name[0] if name else role, password)


def accepted_logins(folder: Path, role: str) -> Mapping[str, str | None]:
    """Logins that the database accepts for a role, one, or two while it rotates; everything else is shut out.

    Name → password; None where the one that it has stays.
    """
    used = login_in_use(folder, role)
    found: dict[str, str | None] = {used.name: used.password}
    if (folder / f"{role}.previous").exists():
        found.setdefault(read_key(folder, f"{role}.previous"), None)
    if (folder / f"{role}.next").exists():
        found.setdefault(other_login(role, used.name), read_key(folder, f"{role}.next"))
    return found


def other_login(role: str, name: str) -> str:
    """A role has two logins with the same rights, of which a rotation uses the free one: its name and `…_second`."""
    second = f"{role}_second"
    return role if name == second else second
