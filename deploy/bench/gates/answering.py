"""What every measured program does: read one request a line, measure, answer one line. Only the standard library, so
that an interpreter in which only a peer is installed can run it.

A request is `{"texts": [[language, text], ...]}`; the answer is `{"cpu_us": [...]}`, CPU time of the process for each
text (not wall time: what else the machine does is not counted).
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Judge = Callable[[str, str], Any]


def answer(judge: Judge, versions: dict[str, str]) -> None:
    """Says that it is ready, then measures until there are no more requests. Standard output is only for answers."""
    answers, sys.stdout = sys.stdout, sys.stderr
    _say(answers, {"versions": versions})
    for line in sys.stdin:
        _say(answers, {"cpu_us": [_microseconds(judge, *pair) for pair in json.loads(line)["texts"]]})


def _microseconds(judge: Judge, language: str, text: str) -> float:
    began = time.process_time_ns()
    judge(language, text)
    return (time.process_time_ns() - began) / 1000


def _say(answers: Any, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()
