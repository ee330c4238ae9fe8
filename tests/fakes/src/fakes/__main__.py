"""`python -m fakes x [--port 0] [--given '{"compares": false}']`: the address on the first line of output, then it answers until it is ended."""

import argparse
import asyncio
import importlib
import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

import fakes
from fakes.found import modules
from fakes.serving.fake import Fake
from fakes.serving.server import serving


def made(name: str, given: Mapping[str, Any] | None = None) -> Fake:
    """The one class of its module that is a fake; `given` are its arguments."""
    module = importlib.import_module(modules()[name])
    (kind,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Fake) and each.__module__ == module.__name__
    ]
    fake: Fake = kind(**(given or {}))
    return fake


async def serve(fake: Fake, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(fake, port):
        sys.stdout.write(f"{fake.url}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fakes", description=fakes.__doc__)
    parser.add_argument("name", choices=sorted(modules()))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--given", type=json.loads, default={}, help='arguments of the fake: {"token": "another"}'
    )
    asked = parser.parse_args()
    asyncio.run(serve(made(asked.name, asked.given), asked.port))


if __name__ == "__main__":
    main()
