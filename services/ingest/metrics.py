"""Metrics of ingest. Rejections are counted without the sender's words: a forged webhook leaves nothing else behind."""

from collections.abc import Iterable
from typing import Final, get_args

from prometheus_client import Counter, Histogram

from contracts.channel import Action
from contracts.messages import OptOutSignal

_WEBHOOKS = Counter(
    "chancela_webhooks_total", "Webhooks answered, by channel and by what became of them.", ["channel", "action"]
)
_REJECTED = Counter("chancela_webhooks_rejected_total", "Webhooks not taken, by reason.", ["reason"])
SECONDS = Histogram(
    "chancela_webhook_seconds",
    "From the first byte read to the answer.",
    buckets=(0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_SIGNALS = Counter("chancela_opt_out_signals_total", "What customers said about being written to.", ["signal"])

_OPTED: Final = {signal: _SIGNALS.labels(signal) for signal in get_args(OptOutSignal) if signal != "none"}


def open_channels(slugs: Iterable[str]) -> None:
    """Let every series stand at zero before the first webhook."""
    for slug in slugs:
        for action in get_args(Action):
            _WEBHOOKS.labels(slug, action)


def answered(slug: str, action: Action) -> None:
    _WEBHOOKS.labels(slug, action).inc()


def rejected(reason: str) -> None:
    _REJECTED.labels(reason).inc()


def opted(signal: OptOutSignal) -> None:
    if signal != "none":
        _OPTED[signal].inc()
