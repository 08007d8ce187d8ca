"""What a result depends on beside our code: versions and the machine."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from deploy.local.nats import nats_program
from deploy.local.postgres_binaries import find_binaries
from deploy.local.unprivileged import server_account

PACKAGES = ("nats-py", "asyncpg", "uvloop", "msgspec", "faststream", "pgqueuer", "procrastinate")


def versions() -> dict[str, str]:
    """Of Python, both servers and the libraries; those that are not installed are left out."""
    found = {
        "python": platform.python_version(),
        "nats-server": _said([nats_program(), "--version"]),
        "postgres": _said([find_binaries(server_account(), None).program("postgres"), "--version"]),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _said(command: list[str]) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return next((word.lstrip("v") for word in said if word.lstrip("v")[:1].isdigit()), "unknown")


def machine() -> dict[str, str | int]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.release()}",
        "load_at_start": f"{os.getloadavg()[0]:.2f}",
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
