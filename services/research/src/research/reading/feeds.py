"""Feeds: RSS, Atom and JSON Feed, as a list of what they lead to. Pure.

XML is parsed by expat, and a feed that declares a document type is refused: without one there are no entities, neither such
that grow nor such that are fetched.
"""

import codecs
import json
import re
from dataclasses import dataclass
from datetime import date
from email.utils import parsedate_to_datetime
from typing import Any, Final
from xml.parsers import expat

from research.reading.cleaning import one_line
from research.reading.facts import day, web_address
from research.reading.formats import UnreadableFileError

MAX_ENTRIES: Final = 200
MAX_TEXT: Final = 2000
"""Characters of a field that are looked at."""
MAX_ADDRESS: Final = 2000

_TAG: Final = re.compile(r"<[^<>]{0,500}>")
_ENTRIES: Final = frozenset({"item", "entry"})
_ADDRESSES: Final = frozenset({"link", "guid"})
_DATES: Final = ("updated", "modified", "pubdate", "published", "date", "issued")
"""The day of the last change tells more about a text's age than that of its first appearance."""
_TEXTS: Final = ("title", "description", "summary")
_JSON_NAMES: Final = {
    "link": ("url",),
    "guid": ("external_url", "id"),
    "title": ("title",),
    "summary": ("summary", "content_text", "content_html"),
    "updated": ("date_modified",),
    "published": ("date_published",),
}
"""As of https://www.jsonfeed.org/version/1.1/: many entries have no title, and their address for an id."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a feed leads to. `address` may be relative to the feed's own; `text` is its title and summary, as plain text."""

    address: str
    text: str
    published_on: date | None = None


def entries_of(content: bytes, charset: str | None = None) -> tuple[Entry, ...]:
    """The entries that lead anywhere, in the feed's order; `charset` is what its site has said of it.

    Raises:
        UnreadableFileError: it is no feed.
    """
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _of_json(content)
    return _of_xml(content, charset)


def _of_json(content: bytes) -> tuple[Entry, ...]:
    try:
        feed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError("it is neither XML nor JSON, so it is no feed") from error
    items = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(items, list):
        raise UnreadableFileError("it has no items, so it is no JSON Feed")
    fields = [_json_fields(each) for each in items[:MAX_ENTRIES] if isinstance(each, dict)]
    return tuple(entry for each in fields if (entry := _entry(each)) is not None)


def _json_fields(item: dict[str, Any]) -> dict[str, str]:
    told = {name: value for name, value in item.items() if isinstance(value, str) and value}
    if web_address(told.get("id")) is None:
        told.pop("id", None)
    return {
        ours: next(told[name] for name in theirs if name in told)
        for ours, theirs in _JSON_NAMES.items()
        if not told.keys().isdisjoint(theirs)
    }


def _of_xml(content: bytes, charset: str | None) -> tuple[Entry, ...]:
    reading = _Reading()
    try:
        encoding = codecs.lookup(charset).name if charset else None
        parser = expat.ParserCreate(encoding, namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = reading.doctype
        parser.StartElementHandler = reading.start
        parser.EndElementHandler = reading.end
        parser.CharacterDataHandler = reading.text
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise UnreadableFileError(f"it is no feed that can be read ({error})") from error
    if not reading.is_feed:
        raise UnreadableFileError("it is XML, and no feed")
    return tuple(entry for each in reading.found if (entry := _entry(each)) is not None)


class _Reading:
    """What expat tells, element by element."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []
        self.is_feed = False
        self._depth = 0
        self._entry_at = 0
        self._fields: dict[str, str] = {}
        self._field: str | None = None

    def doctype(self, *_: object) -> None:
        raise UnreadableFileError("it declares a document type, which no feed needs")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        local = name.rpartition(" ")[2].lower()
        if self._depth == 1:
            self.is_feed = local in {"rss", "rdf", "feed"}
        if not self._entry_at and local in _ENTRIES:
            self._entry_at, self._fields = self._depth, {}
        elif self._entry_at and self._depth == self._entry_at + 1:
            self._field = self._name(local, attributes)

    def _name(self, local: str, attributes: dict[str, str]) -> str | None:
        if local == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                self._fields.setdefault("link", attributes["href"])
            return None
        if local == "guid" and attributes.get("isPermaLink", "true").lower() != "true":
            return None
        return local if local in {*_ADDRESSES, *_DATES, *_TEXTS} else None

    def text(self, data: str) -> None:
        if self._field is not None:
            self._fields[self._field] = (self._fields.get(self._field, "") + data)[:MAX_TEXT]

    def end(self, _: str) -> None:
        if self._depth == self._entry_at:
            if len(self.found) < MAX_ENTRIES:
                self.found.append(self._fields)
            self._entry_at = 0
        elif self._depth == self._entry_at + 1:
            self._field = None
        self._depth -= 1


def _entry(fields: dict[str, str]) -> Entry | None:
    address = (fields.get("link") or fields.get("guid") or "").strip()
    if not address or len(address) > MAX_ADDRESS:
        return None
    text = " ".join(_TAG.sub(" ", fields[name][:MAX_TEXT]) for name in _TEXTS if name in fields)
    dates = (_day(fields[name]) for name in _DATES if name in fields)
    return Entry(address, one_line(text), next((each for each in dates if each is not None), None))


def _day(text: str) -> date | None:
    try:
        return parsedate_to_datetime(text.strip()).date()
    except (ValueError, OverflowError, TypeError, IndexError):
        return day(text.strip())
