"""A real PostgreSQL for one laptop or one test run.

Laws: nobody but the user who started it is its superuser (peer, in a folder that others cannot enter); every other role
needs its password, on the socket and on TCP; TCP is closed unless a port is asked for; it dies with us, in good order.

`directory` holds `data/`, `run/` (the socket) and `postgres.log`, or a pointer to the folder that does.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlencode

from deploy.local.ports import LOOPBACK, require_free_port, wait_until
from deploy.local.postgres_binaries import Binaries, find_binaries
from deploy.local.processes import Child, Command
from deploy.local.unprivileged import Account, give_folder, reachable_home, run_as, server_account

SUPERUSER = "postgres"
_SOCKET_PORT = 5432  # only part of the socket's name
_LONGEST_SOCKET_PATH = 103  # sun_path holds 108 bytes with its end on Linux, 104 on macOS
_READY_WITHIN_SECONDS = 60.0
_STOPPED_WITHIN_SECONDS = 60.0
_LEFT_WITHIN_SECONDS = 10.0
_STILL_IN_USE = "pre-existing shared memory block"
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_RULES = f"""\
# written at every start
local all {SUPERUSER} peer map=owner
local all all scram-sha-256
host all {SUPERUSER} all reject
host all all {LOOPBACK}/32 scram-sha-256
"""


class Postgres:
    """A running server. Made by `start_postgres`."""

    def __init__(self, home: Path, socket_directory: Path, port: int | None, child: Child, binaries: Binaries) -> None:
        self.home = home
        self.socket_directory = socket_directory
        self.port = port
        self.binaries = binaries
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log_file(self) -> Path:
        return self._child.command.log_file

    def is_running(self) -> bool:
        return self._child.is_running()

    def dsn(self, database: str, user: str = SUPERUSER, password: str | None = None, *, over_tcp: bool = False) -> str:
        """As asyncpg and libpq read it; the superuser needs no password on the socket and has no access over TCP."""
        login = quote(user, safe="") + (f":{quote(password, safe='')}" if password is not None else "")
        if not over_tcp:
            place = urlencode({"host": str(self.socket_directory), "port": self.port or _SOCKET_PORT}, safe="/")
            return f"postgresql://{login}@/{quote(database, safe='')}?{place}"
        if self.port is None:
            raise ValueError("this server listens on its socket only: start it with a port")
        return f"postgresql://{login}@{LOOPBACK}:{self.port}/{quote(database, safe='')}"

    def stop(self) -> None:
        """Fast shutdown: open sessions are cut, everything committed is on disk, the next start needs no recovery."""
        self._child.stop(signal.SIGINT, _STOPPED_WITHIN_SECONDS)
        with suppress(OSError):  # the usual folder stays with the data; a short one elsewhere leaves no trace
            if self.socket_directory.parent != self.home:
                self.socket_directory.rmdir()

    def kill(self) -> None:
        """End it by kill -9: its sessions end as at a power cut, and the next start recovers from the log."""
        data = self.home / "data"
        self._child.kill()
        for pid in servers_of(data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not servers_of(data), _LEFT_WITHIN_SECONDS, "the sessions of the killed server end")

    def restart(self) -> None:
        """Stop it if it runs; start it again with the same data, settings and addresses."""
        self._child.stop(signal.SIGINT, _STOPPED_WITHIN_SECONDS)
        give_folder(self._child.command.account, self.socket_directory)
        self._child.start_again()
        _wait_until_ready(self.home / "data", self._child)


def start_postgres(directory: Path, *, port: int | None = None, settings: Mapping[str, str] = _NO_SETTINGS) -> Postgres:
    """Start the server whose data is in `directory`, made at the first start; return once it takes connections.

    `settings` are names and values of postgresql.conf. Raises RuntimeError (with the last lines of the log) when it
    cannot start, PortTakenError when `port` is held by another program.
    """
    account = server_account()
    home = reachable_home(account, directory.absolute())
    binaries = find_binaries(account, _major_of(home / "data"))
    _create_data(home, account, binaries)
    _refuse_second_server(home / "data")
    _write_access_rules(home / "data", account)
    if port is not None:
        require_free_port(port, "PostgreSQL")
    sockets = _socket_directory(home, account)
    child = Child("postgres", _command(binaries, account, home, {**_addresses(sockets, port), **settings}))
    _wait_until_ready(home / "data", child)
    return Postgres(home, sockets, port, child, binaries)


def running_dsn(directory: Path, database: str, user: str, password: str) -> str | None:
    """Address, on its socket, of the server that somebody started on `directory`; None when none runs there."""
    pointed = directory.absolute()
    if not pointed.is_dir():
        return None
    try:
        lines = (reachable_home(server_account(), pointed) / "data" / "postmaster.pid").read_text().splitlines()
        pid, port, sockets = int(lines[0]), lines[3], lines[4]
    except (OSError, ValueError, IndexError):  # absent, not ours to read, or being written
        return None
    if not _is_alive(pid):
        return None
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    place = urlencode({"host": sockets, "port": port}, safe="/")
    return f"postgresql://{login}@/{quote(database, safe='')}?{place}"


def erase_postgres(directory: Path) -> None:
    """Remove a stopped server with all its data, wherever it is kept."""
    if directory.exists():
        home = reachable_home(server_account(), directory.absolute())
        _refuse_second_server(home / "data")
        shutil.rmtree(home)
        shutil.rmtree(directory, ignore_errors=True)


def _command(binaries: Binaries, account: Account | None, home: Path, settings: Mapping[str, str]) -> Command:
    flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return Command(
        [binaries.program("postgres"), "-D", str(home / "data"), *flags],
        log_file=home / "postgres.log",
        directory=Path("/"),
        account=account,
        death_signal=signal.SIGINT,
    )


def _addresses(sockets: Path, port: int | None) -> dict[str, str]:
    return {
        "listen_addresses": LOOPBACK if port else "",
        "port": str(port or _SOCKET_PORT),
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
    }


def _create_data(home: Path, account: Account | None, binaries: Binaries) -> None:
    """Into a folder aside, renamed when complete: an interrupted creation never looks like data."""
    data = home / "data"
    if not data.exists():
        making = home / "data.new"
        shutil.rmtree(making, ignore_errors=True)
        give_folder(account, making)
        _initialise(making, account, binaries)
        making.rename(data)


def _initialise(data: Path, account: Account | None, binaries: Binaries) -> None:
    # the built-in locale knows accented letters and sorts alike on every machine
    locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if binaries.major >= 17 else []
    flags = ["-N", "-k", "-A", "reject", "-U", SUPERUSER, "--locale=C", "--encoding=UTF8", *locale]
    made = run_as(account, [binaries.program("initdb"), *flags, "-D", str(data)])
    if made.returncode:
        raise RuntimeError(f"initdb could not create {data}:\n{made.stderr.strip() or made.stdout.strip()}")


def _write_access_rules(data: Path, account: Account | None) -> None:
    for name, text in (("pg_hba.conf", _RULES), ("pg_ident.conf", _owner_map())):
        written = run_as(account, ["/bin/sh", "-c", 'cat > "$1"', "sh", str(data / name)], text)
        if written.returncode:
            raise RuntimeError(f"cannot write {data / name}: {written.stderr.strip()}")


def _owner_map() -> str:
    return f'owner "{pwd.getpwuid(os.geteuid()).pw_name}" {SUPERUSER}\n'


def _major_of(data: Path) -> int | None:
    version = data / "PG_VERSION"
    return int(version.read_text()) if version.exists() else None


def _socket_directory(home: Path, account: Account | None) -> Path:
    """`run/`, or a short folder that `run.short` names when the path of `run/` is too long for a socket."""
    usual, pointer = home / "run", home / "run.short"
    if len(os.fsencode(usual / ".s.PGSQL.65535")) <= _LONGEST_SOCKET_PATH:
        chosen = usual
    elif pointer.exists():
        chosen = Path(pointer.read_text().strip())
    else:
        chosen = Path(tempfile.mkdtemp(prefix="chancela-", dir=_short_folder(account)))
        pointer.write_text(f"{chosen}\n")
    give_folder(account, chosen)
    return chosen


def _short_folder(account: Account | None) -> str:
    """This session's own folder where there is one; it is closed to any other account."""
    own = os.environ.get("XDG_RUNTIME_DIR", "")
    return own if own and account is None and len(own) < 60 and Path(own).is_dir() else "/tmp"  # noqa: S108 -- a fresh 0700 folder in it


def _wait_until_ready(data: Path, child: Child) -> None:
    def is_ready() -> bool:
        if child.is_running():
            return _status(data) in {(child.pid, "ready"), (child.pid, "standby")}
        if _STILL_IN_USE not in child.log_tail():
            raise RuntimeError(f"PostgreSQL ended with code {child.exit_code} instead of starting:\n{child.log_tail()}")
        child.start_again()  # sessions of a killed server are about to notice that it is gone
        return False

    try:
        wait_until(is_ready, _READY_WITHIN_SECONDS, "PostgreSQL takes connections")
    except BaseException:
        child.kill()
        raise


def _status(data: Path) -> tuple[int, str] | None:
    """Who holds the data and how far it is, from the lock file (as pg_ctl reads it)."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
    except (OSError, ValueError, IndexError):  # absent, or being written
        return None


def _refuse_second_server(data: Path) -> None:
    """Wait for a server whose starter just died; refuse when it stays; drop a lock whose pid is another program's."""
    status = _status(data)
    if status is None:
        return
    pid = status[0]
    try:
        wait_until(lambda: pid not in servers_of(data), _LEFT_WITHIN_SECONDS, "the other server stops")
    except TimeoutError:
        raise RuntimeError(
            f"another PostgreSQL (pid {pid}) already serves {data}: stop what started it, or `kill -INT {pid}`"
        ) from None
    if _is_alive(pid):
        (data / "postmaster.pid").unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def servers_of(data: Path) -> set[int]:
    """The server on this data and its sessions: they all work in its folder."""
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, text=True, check=False)
        rows = (line.split(maxsplit=1) for line in listed.stdout.splitlines())
        return {int(row[0]) for row in rows if len(row) == 2 and f"-D {data} " in row[1]}
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _works_in(entry, data)}


def _works_in(program: Path, folder: Path) -> bool:
    try:
        return (program / "cwd").readlink() == folder
    except OSError:  # ended meanwhile, or another account's
        return False
