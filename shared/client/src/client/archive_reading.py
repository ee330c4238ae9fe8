"""Opens the archive of a brand, and refuses a file that is none, is damaged, or would take too much to read."""

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID
from zipfile import BadZipFile, ZipFile, ZipInfo

from client.brand_archive import BUILT_IN, FORMAT, PARTS
from client.errors import ClientError

MAX_ENTRIES: Final = 200_000
MAX_BYTES: Final = 20_000_000_000
"""Of all files of an archive together, unpacked."""
MAX_RATIO: Final = 500
"""Between a file's size and its packed size, for files of more than a megabyte."""
_MAX_ROW: Final = 7_500_000
_MAX_DOCUMENT: Final = 60_000_000
_MOST_SHOWN: Final = 100
_END = struct.Struct("<4s4H2LH")
_END_OF_LARGE = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_BYTES: Final = 20
_COMMENT_BYTES: Final = 65_535
_BYTES_OF_AN_ENTRY: Final = 200
"""In the directory of a zip file; exports write some 100."""
_DAMAGED: Final = (
    BadZipFile,
    NotImplementedError,
    UnicodeDecodeError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    zlib.error,
)


class ArchiveError(ClientError):
    """The file is no archive that can be imported; the message says why, and what to do.

    Attributes:
        code: such as `no_archive`, for a sentence in another language.
        about: the file in the archive, the number or the brand that the message names; may be empty.
    """

    def __init__(self, message: str, code: str, about: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.about = about


@dataclass(frozen=True, slots=True)
class ArchiveContents:
    """What an archive says about itself, before anything of it is stored."""

    brand: str
    """The slug that the brand had."""
    name: str
    archive_id: UUID
    exported_at: str | None
    counts: Mapping[str, int]
    """By `articles`, `versions`, `keywords`, `posts`, `schedules`, `documents`, `subscribers`."""
    connect_again: tuple[str, ...]
    """Such as `channel mastodon`."""


def open_archive(file: str | IO[bytes], *, most_entries: int = MAX_ENTRIES) -> ZipFile:
    """Opens an archive, and refuses one that would take too much to read.

    Raises:
        ArchiveError: the file is no zip file, or is hostile.
    """
    try:
        _check_directory(file, most_entries)
        archive = ZipFile(file)
    except (*_DAMAGED, struct.error) as error:
        raise ArchiveError(f"the file is no archive of a brand: {error}", "no_archive") from error
    entries = archive.infolist()
    if len(entries) > most_entries:
        raise _too_many(most_entries)
    if sum(each.file_size for each in entries) > MAX_BYTES:
        raise ArchiveError(
            f"the archive is larger than {MAX_BYTES // 10**9} GB when it is unpacked", "too_large"
        )
    if len({each.filename for each in entries}) < len(entries):
        raise ArchiveError(
            "the archive has two files of the same name; export the brand again", "not_an_export"
        )
    for each in entries:
        _check_ratio(each)
    return archive


def _too_many(most: int) -> ArchiveError:
    return ArchiveError(
        f"the archive has more than {most:,} files; no export writes so many", "too_many_files", str(most)
    )


def _check_directory(file: str | IO[bytes], most_entries: int) -> None:
    """Refuses a directory with too many files before it is read: all of it goes into memory."""
    if isinstance(file, str):
        with Path(file).open("rb") as opened:
            _check_directory(opened, most_entries)
            return
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - _COMMENT_BYTES - _END.size)
    file.seek(start)
    tail = file.read(_COMMENT_BYTES + _END.size)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        return  # ZipFile says what is wrong
    fields = _END.unpack_from(tail, place)
    count, length = fields[4], fields[5]
    large = start + place - _LOCATOR_BYTES - _END_OF_LARGE.size
    if large >= 0:
        file.seek(large)
        found = _END_OF_LARGE.unpack(file.read(_END_OF_LARGE.size))
        if found[0] == b"PK\x06\x06":
            count, length = max(count % 0xFFFF, found[7]), max(length % 0xFFFFFFFF, found[8])
    if count > most_entries or length > most_entries * _BYTES_OF_AN_ENTRY:
        raise _too_many(most_entries)


def _check_ratio(entry: ZipInfo) -> None:
    if entry.file_size > 1_000_000 and entry.file_size > MAX_RATIO * max(entry.compress_size, 1):  # noqa: PLR2004
        raise ArchiveError(
            f"{_shown(entry.filename)} unpacks to more than {MAX_RATIO} times its size; no export writes such a file",
            "bomb",
            _shown(entry.filename),
        )


def _shown(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:_MOST_SHOWN])


def read_manifest(archive: ZipFile) -> Mapping[str, Any]:
    """Returns the manifest of an archive that can be imported.

    Raises:
        ArchiveError: it cannot; the message says what to do.
    """
    if "manifest.json" not in archive.namelist():
        raise ArchiveError(
            "the archive has no manifest.json: its export was broken off; export the brand again",
            "broken_off",
        )
    manifest = json_of(archive, "manifest.json")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("brand"), str):
        raise ArchiveError("manifest.json is none of an export; export the brand again", "not_an_export")
    if manifest.get("format", 1) == 1:
        raise ArchiveError(
            "the archive was written by a version that could not import: update the former installation, and export the brand again",
            "former_format",
        )
    if manifest["format"] != FORMAT:
        raise ArchiveError(
            f"the archive has the format {manifest['format']!r}; this version reads {FORMAT}: update it",
            "later_format",
        )
    copied = manifest.get("copied")
    missing = [service for service in PARTS if not isinstance(copied, list) or service not in copied]
    if missing:
        raise ArchiveError(
            f"the archive lacks the rows of {', '.join(missing)}: export with a key of the scope admin, and with the addresses of all"
            " services",
            "lacks_rows",
            ", ".join(missing),
        )
    try:
        UUID(manifest["archive_id"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArchiveError(
            "manifest.json has no archive_id; export the brand again", "not_an_export"
        ) from error
    return {"site_url": None, **manifest}


def read_contents(archive: ZipFile) -> ArchiveContents:
    """Returns what is in an archive that can be imported.

    Raises:
        ArchiveError: it cannot be imported.
    """
    manifest = read_manifest(archive)
    brand = mapping_of(archive, "brand.json")
    exported_at = manifest.get("exported_at")
    counted = ("articles", "versions", "keywords", "posts", "schedules", "documents", "subscribers")
    return ArchiveContents(
        brand=manifest["brand"],
        name=str(brand.get("name") or manifest["brand"])[:_MOST_SHOWN],
        archive_id=UUID(manifest["archive_id"]),
        exported_at=exported_at if isinstance(exported_at, str) else None,
        counts={
            each: number
            for each in counted
            if isinstance(number := manifest.get(each), int) and 0 <= number < 10**9
        },
        connect_again=accounts_of(archive),
    )


def accounts_of(archive: ZipFile) -> tuple[str, ...]:
    """The accounts and the address that the brand had, which no archive has the keys of."""
    brand, site = mapping_of(archive, "brand.json"), mapping_of(archive, "copy/publisher/site.json")
    channels = [f"channel {name}" for name in brand.get("channels") or () if name not in BUILT_IN]
    targets = [f"target {name}" for name in brand.get("targets") or () if name not in BUILT_IN]
    address = [f"address {site['address']}"] if site.get("address") else []
    return (*targets, *channels, *address)


def lines_of(archive: ZipFile, name: str) -> Iterator[str]:
    """Yields the lines of a file of the archive.

    Raises:
        ArchiveError: there is no such file, it is damaged, or a line is too long.
    """
    try:
        with archive.open(name) as file:
            while line := file.readline(_MAX_ROW + 1):
                if len(line) > _MAX_ROW:
                    raise ArchiveError(
                        f"{name} has a row of more than {_MAX_ROW / 1e6} MB, which no service takes",
                        "not_an_export",
                    )
                yield line.decode().rstrip("\n")
    except KeyError as error:
        raise _lacks(name) from error
    except _DAMAGED as error:
        raise _damaged(name, error) from error


def object_of(line: str) -> dict[str, Any]:
    """Reads a row."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"a row of the archive is no JSON: {error}", "not_an_export") from error
    if not isinstance(row, dict):
        raise ArchiveError("a row of the archive is no JSON object", "not_an_export")
    return row


def bytes_of(archive: ZipFile, name: str) -> bytes:
    """Reads a whole file, such as a document."""
    try:
        entry = archive.getinfo(name)
        if entry.file_size > _MAX_DOCUMENT:
            raise ArchiveError(f"{_shown(name)} is larger than {_MAX_DOCUMENT // 10**6} MB", "not_an_export")
        return archive.read(entry)
    except KeyError as error:
        raise _lacks(name) from error
    except _DAMAGED as error:
        raise _damaged(name, error) from error


def json_of(archive: ZipFile, name: str) -> Any:
    """Reads a file that is one JSON document."""
    try:
        return json.loads(bytes_of(archive, name))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{_shown(name)} is no JSON: {error}", "not_an_export") from error


def mapping_of(archive: ZipFile, name: str) -> Mapping[str, Any]:
    """Reads a file that is one JSON object."""
    found = json_of(archive, name)
    if not isinstance(found, dict):
        raise ArchiveError(f"{_shown(name)} is no JSON object", "not_an_export")
    return found


def _lacks(name: str) -> ArchiveError:
    return ArchiveError(
        f"the archive lacks {_shown(name)}; export the brand again", "lacks_file", _shown(name)
    )


def _damaged(name: str, error: Exception) -> ArchiveError:
    return ArchiveError(f"{_shown(name)} is damaged: {error}", "damaged", _shown(name))
