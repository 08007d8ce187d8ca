"""PostgreSQL refuses to run as root: under root it runs as an account that exists anyway, and no account is created.

What writes into a folder of that account runs *as* that account, so that a planted symbolic link gains nothing.
"""

import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_NAME = "nobody"
_POINTER = "elsewhere"
# where root may keep what another account must reach, best first
_OPEN_FOLDERS = (Path("/var/lib/chancela"), Path("/var/tmp/chancela"))  # noqa: S108 -- refused unless root's own


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int


def server_account() -> Account | None:
    """None for an ordinary user: the server then runs as that user."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(_NAME)
    except KeyError:
        raise RuntimeError(
            f"PostgreSQL does not run as root, and this machine has no account {_NAME!r} to run it as: "
            "run this as an ordinary user"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)


def run_as(
    account: Account | None, command: Sequence[str], text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run to the end, never raising for an exit code; `text` is its standard input."""
    return subprocess.run(
        command,
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",  # ours may be closed to that account
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        umask=0o077,
    )


def can_reach(account: Account | None, folder: Path) -> bool:
    """Asked of the kernel, not of the mode bits: mounts, lists of rights and containers have their say too."""
    return run_as(account, ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)]).returncode == 0


def give_folder(account: Account | None, folder: Path) -> None:
    """A folder that only that account (and root) may enter, made if it is missing; nobody else's is taken over."""
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if state.st_uid not in {os.geteuid(), account.uid if account else os.geteuid()} or not stat.S_ISDIR(state.st_mode):
        raise RuntimeError(f"{folder} belongs to another account (uid {state.st_uid}): remove it")
    if account:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def reachable_home(account: Account | None, directory: Path) -> Path:
    """`directory`, or, when that account cannot reach it, a folder elsewhere that `directory` points to from now on."""
    if not directory.exists():
        directory.mkdir(parents=True)
        directory.chmod(0o711 if account else 0o700)
    pointer = directory / _POINTER
    if pointer.exists() and (pointed := Path(pointer.read_text().strip())).is_dir():
        return pointed
    if can_reach(account, directory):
        return directory
    home = Path(tempfile.mkdtemp(prefix="postgres-", dir=open_folder()))
    home.chmod(0o711)
    pointer.write_text(f"{home}\n")
    return home


def open_folder() -> Path:
    """A folder of ours that every account may enter."""
    for folder in _OPEN_FOLDERS:
        try:
            folder.mkdir()
            folder.chmod(0o755)  # whatever the umask
        except FileExistsError:
            pass
        except OSError:
            continue
        state = folder.lstat()
        if state.st_uid == os.geteuid() and state.st_mode & 0o033 == 0o011:
            return folder
    raise RuntimeError(
        f"none of {', '.join(map(str, _OPEN_FOLDERS))} is a folder of root that all may enter and only root may write"
    )
