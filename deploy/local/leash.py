"""Run one command that dies with its parent: `leash.py PARENT SIGNAL PIPE UID:GID COMMAND...` (`-`: as we are).

A program of its own, not a preexec_fn: forking into Python code from a process with threads can deadlock. The kernel
forgets the wish to die with the parent when the account changes, so the order below is a law:
  1. drop the account   2. ask for the signal   3. look whether the parent is already gone   4. become the command,
which closes PIPE: until then the parent waits, so that nobody meets a process that is not on the leash yet.
It runs isolated (`-I -S`), so it imports nothing of ours. The command keeps this process's pid.
"""

import ctypes
import os
import sys
import time

_PR_SET_PDEATHSIG = 1
_WATCH_SECONDS = 0.25


def main(parent: int, death_signal: int, pipe: int, account: str, command: list[str]) -> None:
    os.set_inheritable(pipe, False)
    if account != "-":
        uid, _, gid = account.partition(":")
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    else:
        _watch_from_aside(parent, death_signal, pipe)
    if os.getppid() != parent:
        sys.exit("the program that started this one is gone")
    try:
        os.execvp(command[0], command)  # noqa: S606 -- becoming the command is the purpose
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error.strerror}")


def _watch_from_aside(parent: int, death_signal: int, pipe: int) -> None:
    """Where no kernel signal exists: a child that looks, while the command lives, whether the parent does."""
    command = os.getpid()
    if os.fork():
        return
    os.close(pipe)
    os.setsid()  # a pause of the command must not pause the one who watches
    while os.getppid() == command:
        if not _is_alive(parent):
            os.kill(command, death_signal)
            break
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, under another account
        return True
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
