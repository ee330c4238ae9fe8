"""A mail server without encryption that resets connections, before it has taken a mail or after."""

import asyncio
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from typing import Final

# No time to linger: closing sends RST instead of FIN.
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass
class MailServer:
    """Resets the fraction `share` of connections and mails by chance, and counts them in `struck`."""

    chance: random.Random
    share: float
    port: int = 0
    taken: list[tuple[float, str, str]] = field(default_factory=list)
    """When, in seconds since 1970; Message-ID; subject and text."""
    struck: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._strikes("reset_before"):
                _reset(writer)
                return
            writer.write(b"220 mail.test ready\r\n")
            while line := (await reader.readline()).decode().strip():
                if not await self._answered(line, reader, writer):
                    _reset(writer)
                    return
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has gone
        finally:
            writer.close()

    async def _answered(self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        match line.upper().split(" ")[0]:
            case "EHLO":
                writer.write(b"250 mail.test\r\n")
            case "DATA":
                writer.write(b"354 go on\r\n")
                mail = message_from_bytes(await reader.readuntil(b"\r\n.\r\n"), policy=default)
                text = mail.get_body(("plain",))
                told = "" if text is None else text.get_content()
                self.taken.append((time.time(), str(mail["Message-ID"]), f"{mail['Subject']}\n{told}"))
                if self._strikes("reset_after"):
                    return False
                writer.write(b"250 2.0.0 taken\r\n")
            case "QUIT":
                writer.write(b"221 2.0.0 bye\r\n")
            case _:
                writer.write(b"250 2.0.0 ok\r\n")
        return True

    def _strikes(self, kind: str) -> bool:
        if self.chance.random() >= self.share:
            return False
        self.struck[kind] += 1
        return True


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@asynccontextmanager
async def taking_mail(chance: random.Random, share: float) -> AsyncIterator[MailServer]:
    made = MailServer(chance, share)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
