"""The operator's statements about the documents of a folder, from its file `sources.toml`. Pure.

    work = "The Handbook"
    author = "Jane Doe"
    licence = "CC BY-SA 4.0"
    address = "https://example.org/handbook/"
    quote = "whole"

It applies to its folder and to those below, up to the next such file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from reading.formats import UnreadableFileError
from reading.licences import is_free

FILE_NAME: Final = "sources.toml"
MAX_BYTES: Final = 20_000
MAX_TEXT: Final = 300
MAX_ADDRESS: Final = 1_000

_KEYS: Final = frozenset({"work", "author", "licence", "address", "quote"})
_UNPRINTED: Final = frozenset(map(chr, (*range(32), *range(127, 160))))

WorkT = TypeVar("WorkT")


@dataclass(frozen=True, slots=True)
class StatedWork:
    """The statements about the documents of one folder; None where the file makes none."""

    title: str | None = None
    author: str | None = None
    licence: str | None = None
    address: str | None = None
    """Where the folder is published, ending in "/": the address of a document is this and its path in the folder."""
    quotable: bool = True
    """Whether articles may print whole paragraphs."""

    def url_of(self, path: str) -> str | None:
        """Returns the address of a document by its path below the folder of the file."""
        return None if self.address is None else self.address + quote(path, safe="/!$&'()*+,;=:@~")


UNSTATED: Final = StatedWork()
UNUSABLE: Final = StatedWork(quotable=False)
"""Of a file with errors: its operator meant to state rights, so until it is mended nothing is quoted at length."""


def is_work_file(path: str) -> bool:
    """Returns whether this file makes statements and is no document."""
    return path.rpartition("/")[2] == FILE_NAME


def parse_work(content: bytes) -> StatedWork:
    """Returns what a `sources.toml` states.

    Raises:
        UnreadableFileError: it is no TOML, or a key or value is wrong; the message says which.
    """
    if len(content) > MAX_BYTES:
        raise UnreadableFileError(f"it is larger than {MAX_BYTES:,} bytes")
    try:
        stated = tomllib.loads(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, RecursionError) as error:
        raise UnreadableFileError("it is no TOML in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UnreadableFileError(f"it is no TOML: {error}") from error
    if unknown := sorted(stated.keys() - _KEYS):
        raise UnreadableFileError(f"{unknown[0][:60]!r} is no key; it takes {', '.join(sorted(_KEYS))}")
    for key, value in stated.items():
        if not isinstance(value, str) or not value.strip() or not _UNPRINTED.isdisjoint(value):
            raise UnreadableFileError(f"{key} is not a text of one line")
        if len(value) > (MAX_ADDRESS if key == "address" else MAX_TEXT):
            raise UnreadableFileError(f"{key} is too long")
    licence = stated.get("licence")
    return StatedWork(
        title=stated.get("work"),
        author=stated.get("author"),
        licence=licence,
        address=_address(stated.get("address")),
        quotable=_is_quotable(stated.get("quote"), licence),
    )


def _address(stated: str | None) -> str | None:
    if stated is None:
        return None
    problem = "address is not a web address such as https://example.org/handbook/"
    try:
        parts = urlsplit(stated)
        has_user = "@" in parts.netloc
    except ValueError:
        raise UnreadableFileError(problem) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or has_user or " " in stated:
        raise UnreadableFileError(problem)
    if parts.query or parts.fragment:
        raise UnreadableFileError("address has a “?” or “#”; paths of documents cannot follow it")
    return stated.rstrip("/") + "/"


def _is_quotable(stated: str | None, licence: str | None) -> bool:
    match stated:
        case None:
            return licence is None or is_free(licence)
        case "whole" | "short":
            return stated == "whole"
        case _:
            raise UnreadableFileError('quote is neither "whole" nor "short"')


def find_nearest(works: Mapping[str, WorkT], path: str) -> tuple[str, WorkT] | None:
    """Returns the entry of the nearest folder above a document: its path ("" for the corpus folder), and the entry."""
    while path:
        path = path.rpartition("/")[0]
        if path in works:
            return path, works[path]
    return None
