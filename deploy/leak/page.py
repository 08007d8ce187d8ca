"""The report as one file of HTML: no script, nothing from elsewhere, and a policy that says so."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from deploy.leak import wording
from deploy.leak.doors import DOORS
from deploy.leak.report import Report
from deploy.leak.scenarios import Scenario

_HERE: Final = Path(__file__).parent


def render(report: Report, scenarios: tuple[Scenario, ...]) -> str:
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            wording=wording,
            doors=DOORS,
            languages={one.name: one.language for one in scenarios},
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            style=Markup(style),  # noqa: S704 - our own file
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
