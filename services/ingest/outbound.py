"""What our last words asked for, as far as it changes the meaning of the answer. Pure."""

import re
from typing import Final

from services.ingest.optout import MENU_KIND
from shared.text import fold

_CONFIRM: Final = re.compile(r"\bconfirm")
_CANCEL: Final = re.compile(r"\bcancel")


def kind(text: str) -> str | None:
    """`menu` for our own CONFIRM / CANCEL question: "cancelar" then speaks of the booking."""
    folded = fold(text).text
    return MENU_KIND if _CONFIRM.search(folded) and _CANCEL.search(folded) else None
