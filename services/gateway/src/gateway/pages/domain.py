"""Reads headers of pages: how long a page stays fresh, and what it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urljoin, urlsplit

MEDIA_TYPES: Final = frozenset(
    {
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "text/markdown",
        "text/x-markdown",
        "application/pdf",
        # Feeds, and XML texts.
        "application/rss+xml",
        "application/atom+xml",
        "application/xml",
        "text/xml",
        "application/feed+json",
    }
)
"""Media types that are read as pages."""
FEED_TYPES: Final = MEDIA_TYPES | {"application/json"}
"""Media types of feeds; most JSON Feeds are sent as plain JSON."""

KEPT_HEADERS: Final = (
    "content-type",
    "content-language",
    "last-modified",
    "etag",
    "link",
    "cache-control",
    "expires",
    "date",
    "x-robots-tag",
)
_UNSTATED: Final = timedelta(hours=1)
_GUESSED_AT_MOST: Final = timedelta(days=1)
_LONGEST: Final = timedelta(days=7)
_LONGEST_HEADER: Final = 4_000

_DIRECTIVE: Final = re.compile(r'([a-z-]+)(?:=(?:"([^"]*)"|([^\s,;"]*)))?', re.IGNORECASE)
_LINK: Final = re.compile(r'<([^>]*)>((?:\s*;\s*[a-z*]+\s*(?:=\s*(?:"[^"]*"|[^\s,;"]*))?)*)', re.IGNORECASE)
_PARAMETER: Final = re.compile(r';\s*([a-z*]+)\s*=\s*(?:"([^"]*)"|([^\s,;"]*))', re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A page with its headers."""

    address: str
    """The requested address."""
    final: str
    """The address after redirects."""
    headers: Mapping[str, str]
    """The headers of `KEPT_HEADERS` that the site sent."""
    body: bytes
    read_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class PageDescription:
    """A page's description from its headers alone."""

    media_type: str
    charset: str | None
    language: str | None
    canonical: str | None
    licence: str | None
    last_modified: datetime | None


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers to store, without NUL characters, which PostgreSQL rejects."""
    return {
        name: headers[name][:_LONGEST_HEADER].replace("\x00", "") for name in KEPT_HEADERS if name in headers
    }


def fresh_for(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """How long an answer stays fresh (RFC 9111, 4.2); None: it must not be stored.

    Without a header: a tenth of the page's age since its last change, at most a day; without that, an hour.
    """
    told = {
        name.lower(): quoted or plain or ""
        for name, quoted, plain in _DIRECTIVE.findall(headers.get("cache-control", ""))
    }
    if "no-store" in told or headers.get("vary", "").strip() == "*":
        return None
    if "no-cache" in told:
        return timedelta()
    for name in ("s-maxage", "max-age"):
        if name in told:
            seconds = told[name]
            return min(timedelta(seconds=int(seconds[:9])), _LONGEST) if seconds.isdecimal() else timedelta()
    if "expires" in headers:
        ends = _moment(headers["expires"])
        begins = _moment(headers.get("date", "")) or now
        return timedelta() if ends is None else min(max(ends - begins, timedelta()), _LONGEST)
    changed = _moment(headers.get("last-modified", ""))
    return _UNSTATED if changed is None else min(max(now - changed, timedelta()) / 10, _GUESSED_AT_MOST)


def describe(page: PageResponse) -> PageDescription:
    media_type, _, rest = page.headers.get("content-type", "").partition(";")
    parameters = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(f";{rest}")}
    language = page.headers.get("content-language", "").partition(",")[0].strip()
    return PageDescription(
        media_type=media_type.strip().lower(),
        charset=parameters.get("charset", "").lower() or None,
        language=language if _LANGUAGE.fullmatch(language) else None,
        canonical=_linked(page, "canonical"),
        licence=_linked(page, "license"),
        last_modified=_moment(page.headers.get("last-modified", "")),
    )


def conditions(page: PageResponse) -> dict[str, str]:
    """Headers that request the page only if it has changed; empty if it has neither an `ETag` nor a date."""
    if "etag" in page.headers:
        return {"If-None-Match": page.headers["etag"]}
    if "last-modified" in page.headers:
        return {"If-Modified-Since": page.headers["last-modified"]}
    return {}


def _linked(page: PageResponse, relation: str) -> str | None:
    """The target of the first link with this relation (RFC 8288)."""
    for target, parameters in _LINK.findall(page.headers.get("link", "")):
        named = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(parameters)}
        if relation in named.get("rel", "").lower().split():
            return _web_address(page.final, target.strip())
    return None


def _web_address(base: str, reference: str) -> str | None:
    """Resolves a reference to a web address; None if it is none, or names a user."""
    try:
        found = urljoin(base, reference)
        parts = urlsplit(found)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return found if fits and "@" not in parts.netloc else None


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # Not a date, or out of range.
        return None
