"""Streams a ZIP archive; memory holds at most one file of it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from publisher.site_export.files import ExportedFile

_READABLE: Final = 0o644 << 16


class _ZipBuffer:
    """A write-only buffer that hands over the bytes written so far."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Does nothing: the buffer delays no bytes."""

    def take_bytes(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


async def archive(
    files: AsyncIterator[ExportedFile], folder: str, changed_at: datetime
) -> AsyncIterator[bytes]:
    """All files in one folder with one timestamp; the same files give the same archive."""
    outgoing = _ZipBuffer()
    as_of = changed_at.astimezone(UTC).timetuple()[:6]
    with ZipFile(outgoing, "w") as packed:  # type: ignore[call-overload]  # it asks for nothing else of what cannot be sought in
        async for file in files:
            about = ZipInfo(f"{folder}/{file.name}", as_of)
            about.compress_type = ZIP_STORED if file.is_packed else ZIP_DEFLATED
            about.external_attr = _READABLE
            packed.writestr(about, file.body)
            yield outgoing.take_bytes()
    yield outgoing.take_bytes()
