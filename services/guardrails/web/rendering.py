"""The templates, scripts and styles of these pages."""

from pathlib import Path
from typing import Final

from shared.web.rendering import Site

SITE: Final = Site(Path(__file__).parent)
