"""`python -m deploy.local.phone --port 3000 --webhook URL --key HMACKEY --api-key K --session atendimento`."""

import argparse
from pathlib import Path

from deploy.local.phone.courier import RetryPolicy
from deploy.local.phone.line import Settings
from deploy.local.phone.server import serve
from deploy.local.phone.waha import Me


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m deploy.local.phone", description="A WhatsApp phone that speaks WAHA."
    )
    add = options.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=3000)
    add("--webhook", help="where events are posted; without it nobody hears them")
    add("--key", help="HMAC key of the webhook")
    add("--api-key", help="asked for as X-Api-Key")
    add("--session", default="atendimento")
    add("--name", default="Clínica Sol", help="the business's name on the customers' phones")
    add("--metadata", action="append", default=[], metavar="KEY=VALUE", help="sent with every event")
    add(
        "--state",
        type=Path,
        help="SQLite file that keeps the conversations; without it they last as long as the process",
    )
    add("--frame-ancestor", action="append", default=[], metavar="ORIGIN", help="who may frame the page")
    add("--retry-policy", choices=("constant", "linear", "exponential"), default="constant")
    add("--retry-delay", type=float, default=2.0, metavar="SECONDS")
    add("--retry-attempts", type=int, default=15)
    return options


def main() -> None:
    given = parser().parse_args()
    metadata = tuple((key, value) for key, _, value in (pair.partition("=") for pair in given.metadata))
    settings = Settings(
        me=Me(session=given.session, name=given.name, metadata=metadata),
        webhook=given.webhook,
        hmac_key=given.key,
        api_key=given.api_key,
        retries=RetryPolicy(given.retry_policy, given.retry_delay, given.retry_attempts),
        frame_ancestors=tuple(given.frame_ancestor),
    )
    serve(settings, given.host, given.port, given.state)


main()
