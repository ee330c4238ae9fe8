"""People who open pages, on a fixed schedule, in a process of its own: `python -m benchmarks.load.readers URL` reads JSON, prints JSON.

JSON has `rate` (pages a second), `seconds` and `visits`: lists of a kind, an address and a cookie, which are asked for in turn, each
turn in another order. A page is timed from when it was to be asked for to its last byte, so that waiting for an earlier one counts.
"""

import asyncio
import json
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

import uvloop

from benchmarks.load.visitors import read_answer

_SLOWEST_SECONDS: Final = 60.0


@dataclass(slots=True)
class KindOfPage:
    """Counts and times of the requests for one kind of page."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    bytes: int = 0


class Browsers:
    """Connections that stay open, as those of a proxy in front of the console."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._netloc = parts.hostname, parts.port, parts.netloc
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, address: str, cookie: str, further: Sequence[str] = ()) -> tuple[int, int]:
        """The status and the length of the answer."""
        lines = (
            f"GET {address} HTTP/1.1", f"Host: {self._netloc}", "Accept: text/html", "Accept-Encoding: gzip",
            f"Cookie: {cookie}", *further,
        )  # fmt: skip
        request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        while self._free:
            # The console closes a connection that was idle for long; who meets that moment asks again on another.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                return await self._ask(self._free.pop(), request)
        return await self._ask(await self._open(), request)

    async def _ask(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes
    ) -> tuple[int, int]:
        reader, writer = connection
        try:
            writer.write(request)
            answer = await read_answer(reader)
        except BaseException:
            writer.close()
            raise
        self._free.append(connection)
        return answer

    async def close(self) -> None:
        for _, writer in self._free:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port, limit=1 << 20)


def in_turns(visits: Sequence[tuple[str, str, str]], count: int) -> list[tuple[str, str, str]]:
    """So many visits, turn by turn, the same in each run.

    In one order, a page always follows the same other page, whose work it waits for, and may keep step with work that returns.
    """
    turns = -(-count // len(visits))
    return [each for turn in range(turns) for each in random.Random(turn).sample(visits, len(visits))][:count]


async def read(
    url: str, visits: Sequence[tuple[str, str, str]], *, rate: float, seconds: float
) -> dict[str, KindOfPage]:
    browsers, seen = Browsers(url), defaultdict[str, KindOfPage](KindOfPage)
    wanted = in_turns(visits, max(int(rate * seconds), 1))
    began = perf_counter()

    async def one(number: int) -> None:
        kind, address, cookie = wanted[number]
        due = began + number / rate
        await asyncio.sleep(due - perf_counter())
        status, length = await browsers.get(address, cookie)
        seen[kind].milliseconds.append((perf_counter() - due) * 1000)
        seen[kind].statuses.append(status)
        seen[kind].bytes += length

    async with asyncio.timeout(seconds + _SLOWEST_SECONDS), asyncio.TaskGroup() as group:
        for number in range(len(wanted)):
            group.create_task(one(number))
    await browsers.close()
    return seen


def main() -> None:
    wishes = json.load(sys.stdin)
    visits = [(kind, address, cookie) for kind, address, cookie in wishes["visits"]]
    seen = uvloop.run(read(sys.argv[1], visits, rate=wishes["rate"], seconds=wishes["seconds"]))
    print(
        json.dumps(
            {
                kind: {"ms": each.milliseconds, "statuses": each.statuses, "bytes": each.bytes}
                for kind, each in seen.items()
            }
        )
    )


if __name__ == "__main__":
    main()
