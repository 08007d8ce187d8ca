"""From one folder of keys to what each party may hold: `python -m deploy.handout secrets`.

`secrets/for/<party>/<setting>`: a folder is mounted as it is, or becomes a Kubernetes secret of the same files. A party
finds there what its settings `CHANCELA_<SETTING>_FILE` name, and nothing of anybody else.
"""

import argparse
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from contracts.topology import SERVICES
from deploy.keys import Login, create_keys, login_in_use, nats_users, read_key, write_secret

SUPERUSER = "postgres"
SEALERS = ("approval", "guardrails", "delivery")
WITH_PAGES = ("approval", "guardrails")
"""Who also speaks to the database as `<service>_web`, one tenant at a time."""
OWN_KEYS = {"ingest": {"waha_hmac": "waha.hmac"}, "delivery": {"seal_ring": "seal-ring.json", "waha_api": "waha.api"}}


def hand_out(keys: Path, *, host: str, database: str, options: str = "") -> None:
    """Make missing keys, then write every party's folder anew.

    `options` is the query of the connections, as `sslmode=verify-full&sslrootcert=/run/secrets/postgres-ca/ca.crt`.
    """
    create_keys(keys)
    place = f"{host}/{database}" + (f"?{options}" if options else "")
    parties = {service: service_files(keys, service, place) for service in SERVICES}
    owners = {f"{one}-owner": {"database_owner_url": _url(keys, f"{one}_owner", place)} for one in SERVICES}
    admins = {"bus-admin": {"nats_admin_seed": read_key(keys, "admin.nk")}, "postgres": _superuser(keys, place)}
    servers = {"nats": {"keys.conf": nats_users(keys)}}
    for party, files in {**parties, **owners, **admins, **servers}.items():
        for name, content in files.items():
            _write(keys / "for" / party / name, content)


def service_files(keys: Path, service: str, place: str) -> Mapping[str, str]:
    """Name of the setting → its secret; `place` is what follows the `@` in a connection."""
    files = {
        "database_url": _url(keys, f"{service}_bus", place),
        "nats_seed": read_key(keys, f"{service}.nk"),
        "digest_key": read_key(keys, f"{service}.digest"),
    }
    if service in SEALERS:
        files["seal_key"] = read_key(keys, f"{service}.seal")
    files.update({name: read_key(keys, key) for name, key in OWN_KEYS.get(service, {}).items()})
    if service in WITH_PAGES:
        files["database_web_url"] = _url(keys, f"{service}_web", place)
    return files


def _superuser(keys: Path, place: str) -> Mapping[str, str]:
    path = keys / "postgres.password"
    if not path.exists():
        _write(path, secrets.token_urlsafe(24))
    password = read_key(keys, path.name)
    return {"password": password, "superuser_url": _address(Login(SUPERUSER, password), place)}


def _url(keys: Path, role: str, place: str) -> str:
    return _address(login_in_use(keys, role), place)


def _address(login: Login, place: str) -> str:
    return f"postgresql://{login.name}:{quote(login.password, safe='')}@{place}"


def _write(path: Path, content: str) -> None:
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(exist_ok=True, mode=0o700)
    write_secret(path, content)


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m deploy.handout", description=__doc__)
    options.add_argument("keys", type=Path, help="folder of `chancela keys create`; made when it is missing")
    options.add_argument("--postgres", default="postgres:5432", metavar="HOST:PORT")
    options.add_argument("--database", default="chancela")
    options.add_argument(
        "--postgres-options",
        default="",
        metavar="QUERY",
        help="of every connection, as sslmode=verify-full&sslrootcert=/run/secrets/ca/postgres.crt",
    )
    given = options.parse_args()
    hand_out(given.keys, host=given.postgres, database=given.database, options=given.postgres_options)


if __name__ == "__main__":
    main()
