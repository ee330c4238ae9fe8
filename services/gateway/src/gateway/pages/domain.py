"""What the headers of an answer say of a page: for how long it is good, and what it is."""

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
        # Feeds, and texts in their own right.
        "application/rss+xml",
        "application/atom+xml",
        "application/xml",
        "text/xml",
        "application/feed+json",
    }
)
"""What there may be to read."""
FEED_TYPES: Final = MEDIA_TYPES | {"application/json"}
"""As what feeds are sent: most JSON Feeds under the name of JSON, which elsewhere is no text."""

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
class Page:
    """A page as it was answered."""

    address: str
    """As asked for."""
    final: str
    """Where the redirects ended."""
    headers: Mapping[str, str]
    """Of `KEPT_HEADERS` those that came."""
    body: bytes
    read_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Description:
    """What the headers say; what the text says of itself is found by whoever reads it."""

    media_type: str
    charset: str | None
    language: str | None
    canonical: str | None
    licence: str | None
    last_modified: datetime | None


def kept(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a page is kept with; texts in PostgreSQL have no character 0."""
    return {
        name: headers[name][:_LONGEST_HEADER].replace("\x00", "") for name in KEPT_HEADERS if name in headers
    }


def good_for(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """How long an answer may be used without asking again (RFC 9111, 4.2); None if it must not be kept at all.

    Where the site says nothing: a tenth of the time since the page was last changed, a day at most, or an hour.
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


def describe(page: Page) -> Description:
    media_type, _, rest = page.headers.get("content-type", "").partition(";")
    parameters = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(f";{rest}")}
    language = page.headers.get("content-language", "").partition(",")[0].strip()
    return Description(
        media_type=media_type.strip().lower(),
        charset=parameters.get("charset", "").lower() or None,
        language=language if _LANGUAGE.fullmatch(language) else None,
        canonical=_linked(page, "canonical"),
        licence=_linked(page, "license"),
        last_modified=_moment(page.headers.get("last-modified", "")),
    )


def conditions(page: Page) -> dict[str, str]:
    """The headers that ask for a page only if it has changed; empty where it has no mark to tell by."""
    if "etag" in page.headers:
        return {"If-None-Match": page.headers["etag"]}
    if "last-modified" in page.headers:
        return {"If-Modified-Since": page.headers["last-modified"]}
    return {}


def _linked(page: Page, relation: str) -> str | None:
    """The target of the first link with the relation (RFC 8288)."""
    for target, parameters in _LINK.findall(page.headers.get("link", "")):
        named = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(parameters)}
        if relation in named.get("rel", "").lower().split():
            return _web_address(page.final, target.strip())
    return None


def _web_address(base: str, reference: str) -> str | None:
    """The address of the web that a reference means; None if it is none, or names a user."""
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
    except (ValueError, OverflowError):  # no date, or one beyond what a date can be
        return None
