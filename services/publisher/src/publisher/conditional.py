"""Answers that a browser or a cache can ask again for cheaply (RFC 9110, section 13)."""

import hashlib
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime

from starlette.requests import Request
from starlette.responses import Response


def respond(
    request: Request, body: str, *, media_type: str, last_modified: datetime | None = None, cache_control: str
) -> Response:
    """200 with the body, or 304 without if the client has it already."""
    content = body.encode()
    # Weak, because the same page may travel compressed or not.
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": cache_control}
    if last_modified is not None:
        last_modified = last_modified.astimezone(UTC).replace(microsecond=0)
        headers["Last-Modified"] = format_datetime(last_modified, usegmt=True)
    if _is_fresh(request, etag, last_modified):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def _is_fresh(request: Request, etag: str, last_modified: datetime | None) -> bool:
    # A client that sends an entity tag is judged by it alone: dates have a resolution of a second.
    if (tags := request.headers.get("if-none-match")) is not None:
        known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
        return "*" in known or etag.removeprefix("W/") in known
    since = request.headers.get("if-modified-since")
    if since is None or last_modified is None:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except ValueError:
        return False
    return last_modified <= (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
