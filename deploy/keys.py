"""Keys and passwords of one installation, made once: NKEYs of every identity, seal keys, digest keys, role passwords.

On a cluster the same files live in secrets (`deploy/README.md`); on a laptop they stand in one 0700 folder.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import nkeys

from contracts.topology import SERVICES
from shared import seal
from shared.clock import utc_now

IDENTITIES = ("sys", "admin", "auditor", *SERVICES)
SEALS = {"approval": seal.APPROVAL, "guardrails": seal.CLEARANCE, "delivery": seal.RECEIPT}
SIGNING_DAYS = 366


def create_keys(folder: Path, *, now: datetime | None = None) -> None:
    """Make what is missing in `folder`; what exists is left as it is."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for identity in IDENTITIES:
        _once(folder / f"{identity}.nk", _nkey_seed)
    for service in SERVICES:
        _once(folder / f"{service}.digest", lambda: secrets.token_hex(32))
        for kind in ("owner", "bus", "web"):
            _once(folder / f"{service}_{kind}.password", lambda: secrets.token_urlsafe(24))
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


def _nkey_seed() -> str:
    seed: bytes = nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)  # pyright: ignore[reportUnknownMemberType] - untyped library
    return seed.decode()


def _once(path: Path, make: Callable[[], str]) -> None:
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(make())


def read_key(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8").strip()


def public_nkeys(folder: Path) -> Mapping[str, str]:
    """Environment of nats-server: `CHANCELA_NKEY_<IDENTITY>` → public key."""
    return {f"CHANCELA_NKEY_{one.upper()}": _public(read_key(folder, f"{one}.nk")) for one in IDENTITIES}


def _public(seed: str) -> str:
    pair: Any = nkeys.from_seed(seed.encode())  # pyright: ignore[reportUnknownMemberType] - untyped library
    return pair.public_key.decode()
