"""Decompresses bodies in steps, because a small one may expand without limit."""

import zlib
from collections.abc import Iterator
from typing import Final

from gateway.egress.errors import EgressRefusedError, EgressUnavailableError

ACCEPTED: Final = "gzip"
_STEP: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS
_MAGIC: Final = b"\x1f\x8b"


class PlainDecoder:
    """A body without compression."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def end(self) -> None:
        """Does nothing: the body has no end mark."""


class GzipDecoder:
    """Decompresses a gzip stream into parts of at most 64 KiB."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the decoded parts of a chunk; the caller may stop at any time.

        Raises:
            EgressRefusedError: the body is not gzip.
        """
        rest = chunk
        try:
            while rest:
                self._begun = True
                if self._member.eof:
                    if not rest.startswith(_MAGIC):
                        return  # Padding, which all clients ignore.
                    self._member = zlib.decompressobj(_GZIP)
                part = self._member.decompress(rest, _STEP)
                rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
                if part:
                    yield part
                elif not self._member.eof:
                    return
        except zlib.error as error:
            raise EgressRefusedError(
                "encoding", f"The site's answer is not valid gzip, although its header says so: {error}"
            ) from None

    def end(self) -> None:
        """Checks that the body is complete; call it after the last chunk.

        Raises:
            EgressUnavailableError: the end is missing.
        """
        if self._begun and not self._member.eof:
            raise EgressUnavailableError("broken_off", "The site broke off in the midst of its answer")


def decoder(content_encoding: str | None) -> PlainDecoder | GzipDecoder:
    """Returns the decoder for a `Content-Encoding`.

    Raises:
        EgressRefusedError: the encoding is not among those requested.
    """
    match (content_encoding or "").strip().lower():
        case "" | "identity":
            return PlainDecoder()
        case "gzip" | "x-gzip":
            return GzipDecoder()
        case other:
            raise EgressRefusedError(
                "encoding", f"The site sent its answer as {other[:40]!r}, which was not asked for"
            )
