"""Tabs with live updates, in a process of its own: `python -m benchmarks.load.watchers URL` reads JSON, prints JSON.

JSON has `seconds` and `tabs`: lists of an address and a cookie. A tab keeps the stream of its page open and asks for the page
again as a fragment when the stream says that it changed, as `live.js` does. The line `watching` says that all streams are open;
the seconds begin then.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

import uvloop

from benchmarks.load.readers import Browsers

_FRAGMENT: Final = ("HX-Request: true", "Console-Live: true")
_OPEN_SECONDS: Final = 120.0


async def watch(url: str, tabs: Sequence[tuple[str, str]], seconds: float) -> Counter[str]:
    seen, browsers, opened = Counter[str](), Browsers(url), asyncio.Semaphore(0)
    parts = urlsplit(url)

    async def one(address: str, cookie: str) -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        stream = f"/live?page={quote(address, safe='')}"
        lines = (
            f"GET {stream} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Accept: text/event-stream",
            f"Cookie: {cookie}",
        )
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = (await reader.readuntil(b"\r\n\r\n"))[9:12].decode()
        seen[f"status {status}"] += 1
        opened.release()
        is_first = True
        while status == "200" and (line := await reader.readline()):
            if line.startswith(b"event: counts"):
                seen["counts"] += 1
            elif line.startswith(b"event: changed"):
                seen["changed"] += 1
                # The first one tells what the page has loaded already.
                if not is_first:
                    answer, _ = await browsers.get(address, cookie, _FRAGMENT)
                    seen[f"fragment {answer}"] += 1
                is_first = False

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(*tab)) for tab in tabs]
        async with asyncio.timeout(_OPEN_SECONDS):
            for _ in tabs:
                await opened.acquire()
        print("watching", flush=True)
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
    return seen


def main() -> None:
    wishes = json.load(sys.stdin)
    tabs = [(address, cookie) for address, cookie in wishes["tabs"]]
    print(json.dumps(uvloop.run(watch(sys.argv[1], tabs, wishes["seconds"]))))


if __name__ == "__main__":
    main()
