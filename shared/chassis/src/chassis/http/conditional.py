"""Conditional answers: 304 instead of content that the client has already (RFC 9110, section 13)."""

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from starlette.requests import Request
from starlette.responses import Response


def entity_tag(content: str | bytes) -> str:
    """Return the ETag of a representation, with quotes."""
    content = content.encode() if isinstance(content, str) else content
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def is_known(etag: str, if_none_match: str) -> bool:
    """Return whether the header If-None-Match contains the tag, by weak comparison."""
    known = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in known or etag.removeprefix("W/") in known


def respond(
    request: Request,
    body: str | bytes,
    *,
    media_type: str,
    last_modified: datetime | None = None,
    cache_control: str,
) -> Response:
    """Respond 200 with the body, or 304 if the client has it already."""
    content = body.encode() if isinstance(body, str) else body
    etag, headers = validators(content, last_modified)
    headers["Cache-Control"] = cache_control
    if is_fresh(request, etag, last_modified):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def validators(content: bytes, last_modified: datetime | None) -> tuple[str, dict[str, str]]:
    """Return the entity tag, and the headers that a client revalidates with."""
    # Weak, because the same page may travel compressed or not.
    etag = f"W/{entity_tag(content)}"
    headers = {"ETag": etag}
    if last_modified is not None:
        headers["Last-Modified"] = format_datetime(_to_the_second(last_modified), usegmt=True)
    return etag, headers


def http_date(text: str) -> datetime | None:
    """Parse a date header (RFC 9110, 5.6.7) to UTC; None if it is invalid."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # not a date, or out of range
        return None


def is_fresh(request: Request, etag: str, last_modified: datetime | None) -> bool:
    """Return whether the request's validators are current."""
    # An entity tag overrides the date, which has a resolution of a second.
    if (tags := request.headers.get("if-none-match")) is not None:
        return is_known(etag, tags)
    since = request.headers.get("if-modified-since")
    if since is None or last_modified is None:
        return False
    moment = http_date(since)
    return moment is not None and _to_the_second(last_modified) <= moment


def _to_the_second(moment: datetime) -> datetime:
    """Round down to seconds, the precision of headers."""
    return moment.astimezone(UTC).replace(microsecond=0)
