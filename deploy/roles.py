"""Roles, passwords and empty schemas, made by a superuser: `python -m deploy.roles secrets`. Idempotent."""

import argparse
import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import msgspec

from deploy.local.database import StillUsed, create_roles
from shared.config import ConfigError, environment, load


class Superuser(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of this job."""

    database_superuser_url: str
    """A superuser's connection to the database of the six services, which exists already."""


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m deploy.roles", description=__doc__)
    options.add_argument("keys", type=Path, help="folder of `chancela keys create`")
    options.add_argument(
        "--cut", action="store_true", help="end the sessions of a retired login (a leaked password) instead of refusing"
    )
    given = options.parse_args()
    try:
        url = load(Superuser, environment()).database_superuser_url
        asyncio.run(create_roles(url, urlsplit(url).path.lstrip("/"), given.keys, cut=given.cut))
    except (ConfigError, OSError, asyncpg.PostgresError, StillUsed) as error:
        sys.exit(f"roles: {error}")


if __name__ == "__main__":
    main()
