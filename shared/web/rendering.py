"""HTML: templates, headers, and the fingerprint under which scripts and styles may be kept for ever."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_HERE: Final = Path(__file__).parent
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


class Site:
    """A service's folder of `templates` and `static`, over those that every service with pages has."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder, _HERE)

    def render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(values)

    @cached_property
    def assets(self) -> Mapping[str, bytes]:
        """Every script and style, by name."""
        files = (file for folder in reversed(self._folders) for file in sorted((folder / "static").iterdir()))
        return {file.name: file.read_bytes() for file in files if file.suffix in TYPES}

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for name, content in self.assets.items():
            digest.update(name.encode() + b"\0" + content)
        return digest.hexdigest()[:12]

    @cached_property
    def _environment(self) -> Environment:
        folders = [folder / "templates" for folder in self._folders]
        environment = Environment(
            loader=FileSystemLoader(folders), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip
        environment.filters["asset"] = self._asset
        environment.filters["json"] = _json
        return environment

    def _asset(self, name: str) -> str:
        return f"/assets/{self.fingerprint}/{name}"


def _json(value: Any) -> Markup:
    """A data block's content: no `<`, so that nothing in it can end the block."""
    return Markup(msgspec.json.encode(value).decode().replace("<", "\\u003c"))  # noqa: S704 - escaped here, for a data block
