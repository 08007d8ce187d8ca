"""JSON logs with the ids of what is handled. Message text never goes into a line (tested with a planted marker)."""

import logging
import sys
from typing import Any

import structlog

from shared import trace


def configure(service: str, level: str = "info") -> None:
    """One JSON object a line on stdout; also for what libraries log."""
    chain: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _with_trace,
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
    numeric = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    structlog.configure(
        processors=chain,
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(sys.stdout),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=chain[:-2], processors=chain[-2:]))
    logging.basicConfig(level=max(numeric, logging.WARNING), handlers=[handler], force=True)


def _with_trace(_logger: Any, _method: str, line: dict[str, Any]) -> dict[str, Any]:
    current = trace.current()
    if current:
        line["trace"] = current.split("-")[1]
    return line


def get(name: str) -> Any:
    """A logger; first argument is what happened, keyword arguments are ids and numbers."""
    return structlog.get_logger(name)
