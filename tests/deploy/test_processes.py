"""The supervisor of `chancela dev`, with real children."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local.ports import PortTakenError, free_port, holder_of, require_free_port, wait_until
from deploy.local.processes import Child, Command, Processes

GRACE_SECONDS = 0.5
TICKING = "import itertools, time\nfor n in itertools.count():\n print(n, flush=True)\n time.sleep(0.005)\n"
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + TICKING
ORDERLY = (
    "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(3)))\n" + TICKING
)
WITH_GRANDCHILD = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', '''{TICKING}'''])\n" + TICKING


@pytest.fixture
def processes() -> Iterator[Processes]:
    with Processes(grace_seconds=GRACE_SECONDS) as running:
        yield running


def started(processes: Processes, name: str, program: str, log_file: Path) -> Child:
    child = processes.start(name, Command([sys.executable, "-u", "-c", program], log_file=log_file))
    wait_until(child.log_tail, 10, "it writes")
    return child


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_stopping_all_asks_first_and_kills_the_deaf_even_a_paused_one(processes: Processes, tmp_path: Path) -> None:
    started(processes, "orderly", ORDERLY, tmp_path / "orderly.log")
    started(processes, "paused", ORDERLY, tmp_path / "paused.log")
    started(processes, "deaf", DEAF, tmp_path / "deaf.log")
    processes.pause("paused")
    assert processes.stop_all() == {"orderly": 3, "paused": 3, "deaf": -signal.SIGKILL}
    assert (tmp_path / "orderly.log").read_text().endswith("bye\n")


def test_a_killed_process_is_reported_as_ended_and_can_be_started_again(processes: Processes, tmp_path: Path) -> None:
    killed = started(processes, "worker", TICKING, tmp_path / "log").pid
    assert processes.kill("worker") == -signal.SIGKILL
    assert processes.wait_for_an_end(5) == {"worker": -signal.SIGKILL}
    assert processes.restart("worker").pid != killed
    assert processes.ended() == {}


def test_a_paused_process_stands_still_until_it_is_resumed(processes: Processes, tmp_path: Path) -> None:
    child = started(processes, "worker", TICKING, tmp_path / "log")
    processes.pause("worker")
    wait_until(lambda: " T " in Path(f"/proc/{child.pid}/stat").read_text(), 30, "it stands still")
    reached = child.log_tail(1)
    assert child.log_tail(1) == reached
    processes.resume("worker")
    wait_until(lambda: child.log_tail(1) != reached, 30, "it goes on")


def test_what_a_stopped_process_had_started_ends_with_it(processes: Processes, tmp_path: Path) -> None:
    child = started(processes, "worker", WITH_GRANDCHILD, tmp_path / "log")
    grandchild = int(wait_until(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text, 30, "it starts one"))
    processes.stop("worker")
    wait_until(lambda: has_ended(grandchild), 30, "the grandchild ends")


@pytest.mark.parametrize("end", [Child.stop, Child.kill])
def test_what_one_left_behind_that_ended_alone_ends_with_it(
    processes: Processes, tmp_path: Path, end: Callable[[Child], int]
) -> None:
    child = started(processes, "worker", WITH_GRANDCHILD, tmp_path / "log")
    grandchild = int(wait_until(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text, 30, "it starts one"))
    os.kill(child.pid, signal.SIGKILL)
    wait_until(lambda: has_ended(child.pid), 30, "the worker ends")
    end(child)
    wait_until(lambda: has_ended(grandchild), 30, "the grandchild ends")


def test_the_children_of_a_killed_parent_end_even_when_paused(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\nfrom deploy.local.processes import Command, Processes\n"
        "one = Processes().start('one', Command(['sleep', '600'], log_file=pathlib.Path(sys.argv[1])))\n"
        "one.pause()\nprint(one.pid, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, tmp_path / "log"], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert not has_ended(child)
        parent.kill()
    wait_until(lambda: has_ended(child), 30, "the child ends")


def test_a_program_that_cannot_be_run_says_so_in_its_log(processes: Processes, tmp_path: Path) -> None:
    child = processes.start("ghost", Command(["/no-such-program"], log_file=tmp_path / "log"))
    assert processes.wait_for_an_end(5) == {"ghost": 1}
    assert child.log_tail() == "cannot run /no-such-program: No such file or directory"


def test_the_holder_of_a_port_is_named_and_a_free_port_is_accepted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert f"(pid {os.getpid()})" in (holder_of(port) or "")
        with pytest.raises(PortTakenError, match=f"port {port}, wanted for the queue, is held by"):
            require_free_port(port, "the queue")
    require_free_port(free_port(), "the queue")


def test_waiting_in_vain_names_what_was_waited_for() -> None:
    with pytest.raises(TimeoutError, match="until the moon is blue"):
        wait_until(lambda: False, 0.02, "the moon is blue")
