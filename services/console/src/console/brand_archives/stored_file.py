"""An uploaded archive as a file for a thread, which reads its pieces from the console's database as it needs them."""

import asyncio
import io
import os
from collections.abc import Awaitable, Callable
from typing import Final

from console.brand_archives.store import PIECE_BYTES

_PATIENCE_SECONDS: Final = 60


class StoredFile(io.RawIOBase):
    """Holds one piece in memory. `read_piece` runs in the loop of the process."""

    def __init__(
        self,
        size: int,
        read_piece: Callable[[int], Awaitable[bytes | None]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__()
        self._size = size
        self._read_piece = read_piece
        self._loop = loop
        self._place = 0
        self._number = -1
        self._piece = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("a place before the beginning of the file")
        self._place = start + offset
        return self._place

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]  # of any buffer
        """Raises OSError: a piece is missing, as somebody removed the archive."""
        number, offset = divmod(self._place, PIECE_BYTES)
        if self._place >= self._size or not len(buffer):
            return 0
        if number != self._number:
            self._piece, self._number = self._fetch(number), number
        found = self._piece[offset : offset + len(buffer)]
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)

    def _fetch(self, number: int) -> bytes:
        async def read() -> bytes | None:
            return await self._read_piece(number)

        piece = asyncio.run_coroutine_threadsafe(read(), self._loop).result(_PATIENCE_SECONDS)
        if piece is None:
            raise OSError(f"piece {number} of the archive is missing")
        return piece
