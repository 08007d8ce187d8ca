"""From one folder of keys to what each party may hold: `python -m deploy.handout secrets`.

`secrets/for/<party>/<setting>`: a folder is mounted as it is, or becomes a Kubernetes secret of the same files. A party
finds there what its settings `CHANCELA_<SETTING>_FILE` name, and nothing of anybody else.
"""

import argparse
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from contracts.topology import SERVICES
from deploy.keys import create_keys, public_nkeys, read_key

SUPERUSER = "postgres"
SEALERS = ("approval", "guardrails", "delivery")
WITH_PAGES = ("approval",)
"""Who also speaks to the database as `<service>_web`, one tenant at a time."""
OWN_KEYS = {"ingest": {"waha_hmac": "waha.hmac"}, "delivery": {"seal_ring": "seal-ring.json", "waha_api": "waha.api"}}


def hand_out(keys: Path, *, host: str, database: str) -> None:
    """Make missing keys, then write every party's folder anew."""
    create_keys(keys)
    parties = {service: service_files(keys, service, host=host, database=database) for service in SERVICES}
    owners = {
        f"{service}-owner": {"database_owner_url": _url(keys, f"{service}_owner", host, database)}
        for service in SERVICES
    }
    admins = {
        "bus-admin": {"nats_admin_seed": read_key(keys, "admin.nk")},
        "postgres": _superuser(keys, host, database),
    }
    for party, files in {**parties, **owners, **admins}.items():
        for name, content in files.items():
            _write(keys / "for" / party / name, content)
    _write(keys / "for" / "nats.env", "".join(f"{name}={key}\n" for name, key in public_nkeys(keys).items()))


def service_files(keys: Path, service: str, *, host: str, database: str) -> Mapping[str, str]:
    """Name of the setting → its secret."""
    files = {
        "database_url": _url(keys, f"{service}_bus", host, database),
        "nats_seed": read_key(keys, f"{service}.nk"),
        "digest_key": read_key(keys, f"{service}.digest"),
    }
    if service in SEALERS:
        files["seal_key"] = read_key(keys, f"{service}.seal")
    files.update({name: read_key(keys, key) for name, key in OWN_KEYS.get(service, {}).items()})
    if service in WITH_PAGES:
        files["database_web_url"] = _url(keys, f"{service}_web", host, database)
    return files


def _superuser(keys: Path, host: str, database: str) -> Mapping[str, str]:
    path = keys / "postgres.password"
    if not path.exists():
        _write(path, secrets.token_urlsafe(24))
    password = read_key(keys, path.name)
    return {"password": password, "superuser_url": _address(SUPERUSER, password, host, database)}


def _url(keys: Path, role: str, host: str, database: str) -> str:
    return _address(role, read_key(keys, f"{role}.password"), host, database)


def _address(role: str, password: str, host: str, database: str) -> str:
    return f"postgresql://{role}:{quote(password, safe='')}@{host}/{database}"


def _write(path: Path, content: str) -> None:
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(content)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m deploy.handout", description=__doc__)
    options.add_argument("keys", type=Path, help="folder of `chancela keys create`; made when it is missing")
    options.add_argument("--postgres", default="postgres:5432", metavar="HOST:PORT")
    options.add_argument("--database", default="chancela")
    given = options.parse_args()
    hand_out(given.keys, host=given.postgres, database=given.database)


if __name__ == "__main__":
    main()
