"""Parses feeds (RSS, Atom, JSON Feed) into entries. Pure.

Expat parses the XML. A feed with a document type is refused: without one there are no entities to expand or to fetch.
"""

import codecs
import json
import re
from dataclasses import dataclass
from datetime import date
from email.utils import parsedate_to_datetime
from typing import Any, Final
from xml.parsers import expat

from reading.cleaning import one_line
from reading.facts import parse_date, web_address
from reading.formats import UnreadableFileError

MAX_ENTRIES: Final = 200
MAX_TEXT: Final = 2000
"""Characters to use of a field."""
MAX_ADDRESS: Final = 2000

_TAG: Final = re.compile(r"<[^<>]{0,500}>")
_ENTRIES: Final = frozenset({"item", "entry"})
_ADDRESSES: Final = frozenset({"link", "guid"})
_DATES: Final = ("updated", "modified", "pubdate", "published", "date", "issued")
"""In order of preference: a change tells more about a text's age than its publication."""
_TEXTS: Final = ("title", "description", "summary")
_JSON_NAMES: Final = {
    "link": ("url",),
    "guid": ("external_url", "id"),
    "title": ("title",),
    "summary": ("summary", "content_text", "content_html"),
    "updated": ("date_modified",),
    "published": ("date_published",),
}
"""See https://www.jsonfeed.org/version/1.1/: many entries have no title, and their address as id."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One entry of a feed. `address` may be relative to the feed's; `text` is title and summary as plain text."""

    address: str
    text: str
    published_on: date | None = None


def parse_feed(content: bytes, charset: str | None = None) -> tuple[FeedEntry, ...]:
    """Return the entries with an address, in the feed's order; `charset` comes from the HTTP header.

    Raises:
        UnreadableFileError: it is not a feed.
    """
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _of_json(content)
    return _of_xml(content, charset)


def _of_json(content: bytes) -> tuple[FeedEntry, ...]:
    try:
        feed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError("it is neither XML nor JSON, so it is not a feed") from error
    items = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(items, list):
        raise UnreadableFileError("it has no items, so it is not a JSON Feed")
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


def _of_xml(content: bytes, charset: str | None) -> tuple[FeedEntry, ...]:
    reading = _FeedParser()
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
        raise UnreadableFileError(f"it is not a readable feed ({error})") from error
    if not reading.is_feed:
        raise UnreadableFileError("it is XML, but not a feed")
    return tuple(entry for each in reading.found if (entry := _entry(each)) is not None)


class _FeedParser:
    """Collects the fields of each entry from expat's events."""

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


def _entry(fields: dict[str, str]) -> FeedEntry | None:
    address = (fields.get("link") or fields.get("guid") or "").strip()
    if not address or len(address) > MAX_ADDRESS:
        return None
    text = " ".join(_TAG.sub(" ", fields[name][:MAX_TEXT]) for name in _TEXTS if name in fields)
    dates = (_day(fields[name]) for name in _DATES if name in fields)
    return FeedEntry(address, one_line(text), next((each for each in dates if each is not None), None))


def _day(text: str) -> date | None:
    try:
        return parsedate_to_datetime(text.strip()).date()
    except (ValueError, OverflowError, TypeError, IndexError):
        return parse_date(text.strip())
