"""What a service's process says of itself on its probes' port."""

import asyncio
import ssl
import urllib.error
import urllib.request

from deploy.local.processes import Child


async def readiness(child: Child) -> tuple[int, str]:
    """Status and words; 0 when nobody answers."""
    return await asyncio.to_thread(ask, f"{_address(child)}/readyz")


async def metrics(child: Child) -> str:
    """A scrape."""
    return (await asyncio.to_thread(ask, f"{_address(child)}/metrics"))[1]


def _address(child: Child) -> str:
    assert child.command.env is not None
    return f"http://127.0.0.1:{child.command.env['CHANCELA_HEALTH_PORT']}"


def ask(url: str, context: ssl.SSLContext | None = None) -> tuple[int, str]:
    """Status and words; 0 when nobody answers, or not in TLS as the context wants it."""
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.read().decode()
    except OSError as error:
        return 0, str(error)
