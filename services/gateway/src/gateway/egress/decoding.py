"""Bodies as they were before the other side compressed them, in steps: a small one may hold one without end."""

import zlib
from collections.abc import Iterator
from typing import Final

from gateway.egress.errors import PassingError, RefusedError

ACCEPTED: Final = "gzip"
_STEP: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS
_MAGIC: Final = b"\x1f\x8b"


class Plain:
    """A body that was sent as it is."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def end(self) -> None:
        """There is nothing that could be missing."""


class Gunzip:
    """The parts of a gzip stream, each of at most 64 KiB."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What more is known now; the caller may stop asking at any time.

        Raises:
            RefusedError: it is not gzip.
        """
        rest = chunk
        try:
            while rest:
                self._begun = True
                if self._member.eof:
                    if not rest.startswith(_MAGIC):
                        return  # padding, which everybody passes over
                    self._member = zlib.decompressobj(_GZIP)
                part = self._member.decompress(rest, _STEP)
                rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
                if part:
                    yield part
                elif not self._member.eof:
                    return
        except zlib.error as error:
            raise RefusedError(
                "encoding", f"What the site sent is not the gzip that it says: {error}"
            ) from None

    def end(self) -> None:
        """To be called after the last chunk.

        Raises:
            PassingError: the end is missing.
        """
        if self._begun and not self._member.eof:
            raise PassingError("broken_off", "The site broke off in the midst of its answer")


def decoder(content_encoding: str | None) -> Plain | Gunzip:
    """What undoes the `Content-Encoding` of an answer.

    Raises:
        RefusedError: it is none that we asked for.
    """
    match (content_encoding or "").strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip":
            return Gunzip()
        case other:
            raise RefusedError(
                "encoding", f"The site sent its answer as {other[:40]!r}, which was not asked for"
            )
