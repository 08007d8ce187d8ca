"""`python -m deploy.local.model --port 8089`."""

import argparse

import uvicorn

from deploy.local.model.server import app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.local.model", description="A rule-based local model.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8089)
    options = parser.parse_args()
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level="warning",
        lifespan="off",
        loop="asyncio",
        http="h11",
        timeout_graceful_shutdown=1,
    )


main()
