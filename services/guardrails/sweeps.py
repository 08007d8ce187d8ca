"""Passes over a draft that rules of several gates share. Rules with wide gaps stay out: they have their own."""

from typing import Final

from shared.patterns import Sweep

FOLDED: Final = Sweep()
"""Over the folded text."""
WRITTEN: Final = Sweep()
"""Over the text as it is written."""
