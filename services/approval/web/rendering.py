"""HTML: templates, headers, and the fingerprint under which scripts and styles may be kept for ever."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_HERE: Final = Path(__file__).parent
STATIC: Final = _HERE / "static"
TYPES: Final[Mapping[str, str]] = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def policy(frame: str = "") -> str:
    """The Content-Security-Policy of our pages. Nothing inline, nothing from elsewhere; at most one frame."""
    frame = frame or "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        f"frame-src {frame}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def headers(frame: str = "") -> dict[str, str]:
    return {
        "content-security-policy": policy(frame),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
    }


def render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(values)


@cache
def assets() -> Mapping[str, bytes]:
    """Every script and style, by name."""
    return {file.name: file.read_bytes() for file in sorted(STATIC.iterdir()) if file.suffix in TYPES}


@cache
def fingerprint() -> str:
    digest = hashlib.sha256()
    for name, content in assets().items():
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:12]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["asset"] = _asset
    environment.filters["json"] = _json
    return environment


def _asset(name: str) -> str:
    return f"/assets/{fingerprint()}/{name}"


def _json(value: Any) -> Markup:
    """A data block's content: no `<`, so that nothing in it can end the block."""
    return Markup(msgspec.json.encode(value).decode().replace("<", "\\u003c"))  # noqa: S704 - escaped here, for a data block
