"""Named places where a fault test ends this process by kill -9. Unless `CHANCELA_CRASH_AT` names one, they do nothing.

    name          the first pass ends the process
    name@3        the third pass does
    name:0.01     each pass does with this probability

Several are separated by commas. Read once, when the process starts.
"""

import os
import random
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from shared.config import ConfigError, environment

VARIABLE = "CHANCELA_CRASH_AT"
_PLAN = re.compile(r"(?P<name>[a-z_.]+)(?:@(?P<number>[1-9]\d*)|:(?P<probability>0?\.\d+|1(?:\.0+)?))?")


@dataclass(slots=True)
class Plan:
    """When a place ends the process: at one pass, or at each with a probability."""

    number: int = 1
    probability: float | None = None
    passed: int = 0

    def is_due(self) -> bool:
        self.passed += 1
        if self.probability is None:
            return self.passed == self.number
        return random.random() < self.probability  # noqa: S311 - chance, not a secret


def plans(text: str) -> Mapping[str, Plan]:
    """Read the variable's text.

    Raises:
        ConfigError: it is not of the form above.
    """
    found: dict[str, Plan] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = _PLAN.fullmatch(part)
        if match is None:
            raise ConfigError(f"{VARIABLE}={text}: {part!r} is none of name, name@number, name:probability")
        number, probability = match["number"], match["probability"]
        found[match["name"]] = Plan(int(number or 1), float(probability) if probability else None)
    return found


_plans = plans(environment().get(VARIABLE, ""))


def point(name: str) -> None:
    """Die here, as at a power cut, if the plan says so: nothing is flushed, closed or told."""
    if _plans and name in _plans and _plans[name].is_due():
        os.kill(os.getpid(), signal.SIGKILL)
