"""Where a third-party library or a source of chance may be used: one door each, so that the rest stays pure."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("contracts", "shared", "services")
DOORS = {
    "asyncpg": ("shared/db.py", "shared/migrate.py"),
    "nats": ("shared/bus/*.py",),
    "fastapi": (
        "services/*/http.py",
        "services/*/http/*.py",
        "services/*/web/*.py",
        "shared/web/cookies.py",
        "shared/web/forms.py",
        "shared/web/pages.py",
        "shared/web/signing.py",
    ),
    "jinja2": ("shared/web/rendering.py",),
    "uvicorn": ("shared/runtime.py",),
    "prometheus_client": ("shared/metrics.py", "services/*/metrics.py"),
    "openai": ("services/conversador/model.py", "services/operator/model.py", "services/guardrails/classifier.py"),
    "httpx": ("services/delivery/sender.py",),
    "httpx2": ("shared/web/provider.py",),
    "authlib": ("shared/web/id_token.py", "shared/web/provider.py"),
    "joserfc": ("shared/web/id_token.py",),
    "cryptography": ("shared/seal.py",),
    "re2": ("shared/patterns.py",),
}
CALLS = {
    "uuid4": ("shared/ids.py",),
    "datetime.now": ("shared/clock.py", "shared/log.py"),
    "datetime.utcnow": (),
    "time.time": ("shared/clock.py",),
    "os.environ": ("shared/config.py",),
    "print": ("shared/runtime.py",),
}


def files() -> list[Path]:
    return [path for package in CODE for path in sorted((ROOT / package).rglob("*.py"))]


def faults(source: str, place: str) -> Iterator[str]:
    """Imports and calls in a file that belong elsewhere."""
    for node in ast.walk(ast.parse(source)):
        for library in _imported(node):
            doors = DOORS.get(library)
            if doors is not None and not any(fnmatch(place, door) for door in doors):
                yield f"{place}: {library} is for {', '.join(doors)}"
        used = _used(node)
        if used in CALLS and place not in CALLS[used]:
            yield f"{place}: {used} is for {', '.join(CALLS[used]) or 'nobody'}"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.split(".")[0]]
    return []


def _used(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_uses_only_what_is_its_to_use(path: Path) -> None:
    place = str(path.relative_to(ROOT))
    assert list(faults(path.read_text(encoding="utf-8"), place)) == []


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("import asyncpg", "services/delivery/dispatch.py"),
        ("from nats.aio.client import Client", "services/operator/turn.py"),
        ("import fastapi", "services/guardrails/service.py"),
        ("from openai import AsyncOpenAI", "services/guardrails/judging.py"),
        ("import httpx", "services/operator/model.py"),
        ("import authlib", "services/approval/http/signing.py"),
        ("now = datetime.now(UTC)", "services/approval/lifecycle.py"),
        ("key = uuid4()", "contracts/topology.py"),
        ("home = os.environ", "services/ingest/http.py"),
    ],
)
def test_a_use_behind_another_door_is_found(line: str, place: str) -> None:
    assert list(faults(line, place))
