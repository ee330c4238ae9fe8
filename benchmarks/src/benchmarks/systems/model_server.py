"""A model that answers at once, to measure the gateway's overhead: `python -m benchmarks.systems.model_server PORT`.

It implements the part of `POST /v1/chat/completions` that the gateway uses, over persistent connections.
"""

import asyncio
import json
import sys
from typing import Final

import uvloop

from brandctl.local import ports

_ANSWER: Final = json.dumps(
    {
        "id": "chatcmpl-benchmark",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "instant",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Coffee is brewed with water. [1]"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49},
    }
).encode()
_HEAD: Final = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(_ANSWER)}\r\n\r\n".encode()
)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, there, rest = head.partition(b"\r\ncontent-length:")
            if there:
                await reader.readexactly(int(rest.split(b"\r\n", 1)[0]))
            writer.write(_HEAD + _ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(port: int) -> None:
    server = await asyncio.start_server(answer, ports.LOOPBACK, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
