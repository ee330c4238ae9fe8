"""Simulates visitors of a site in a process of its own: `python -m benchmarks.load.visitors URL JSON` prints results as JSON.

JSON has `connections` (that stay open), `seconds`, `headers`, and, for an open loop, `rate`: requests a second on a
fixed schedule, each timed from its scheduled time. Without `rate`, each connection sends the next request after each
answer.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

import uvloop

_SLOWEST_SECONDS: Final = 30.0


@dataclass(slots=True)
class VisitorResults:
    """The results of all visitors."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    bytes: int = 0


async def visit(
    url: str, *, connections: int, seconds: float, headers: Mapping[str, str], rate: float
) -> VisitorResults:
    parts = urlsplit(url)
    lines = [f"GET {parts.path or '/'} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    seen = VisitorResults()
    began = perf_counter()
    turns = iter(range(int(rate * seconds))) if rate else None

    async def one() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while perf_counter() - began < seconds:
            due = perf_counter()
            if turns is not None:
                turn = next(turns, None)
                if turn is None:
                    break
                due = began + turn / rate
                await asyncio.sleep(due - perf_counter())
            writer.write(request)
            status, length = await read_answer(reader)
            seen.milliseconds.append((perf_counter() - due) * 1000)
            seen.statuses[status] += 1
            seen.bytes += length
        writer.close()

    async with asyncio.timeout(seconds + _SLOWEST_SECONDS), asyncio.TaskGroup() as group:
        for _ in range(connections):
            group.create_task(one())
    return seen


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, int]:
    """The status and the length of the body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head[9:12])
    _, there, rest = head.partition(b"\r\ncontent-length:")
    if there:
        length = int(rest.split(b"\r\n", 1)[0])
        await reader.readexactly(length)
        return status, length
    if b"\r\ntransfer-encoding: chunked" not in head:
        return status, 0
    length = 0
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
        length += size
    await reader.readline()
    return status, length


def main() -> None:
    url, wishes = sys.argv[1], json.loads(sys.argv[2])
    began = perf_counter()
    seen = uvloop.run(
        visit(
            url,
            connections=wishes["connections"],
            seconds=wishes["seconds"],
            headers=wishes.get("headers", {}),
            rate=wishes.get("rate", 0.0),
        )
    )
    elapsed, ordered = perf_counter() - began, sorted(seen.milliseconds)
    report = {
        "requests": len(ordered),
        "per_s": len(ordered) / elapsed,
        "p50_ms": ordered[len(ordered) // 2] if ordered else None,
        "p99_ms": ordered[int(len(ordered) * 0.99)] if ordered else None,
        "statuses": seen.statuses,
        "bytes": seen.bytes,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
