"""Dates in headers, valid and malformed."""

from datetime import UTC, datetime

import pytest
from starlette.requests import Request

from chassis.http.conditional import http_date, respond

CHANGED = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "moment"),
    [
        ("Wed, 01 Jul 2026 12:00:00 GMT", CHANGED),
        ("Wed, 01 Jul 2026 14:00:00 +0200", CHANGED),
        ("Wed, 01 Jul 2026 12:00:00 -0000", CHANGED),
        ("yesterday", None),
        ("", None),
        ("Wed, 01 Jul 2026 12:00:00 +9999", None),
        ("Wed, 01 Jul 2026 12:00:00 +99999999999999999999", None),
        ("Wed, 01 Jul 99999999 12:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -1200", None),
    ],
)
def test_a_date_is_a_moment_or_none_at_all(header: str, moment: datetime | None) -> None:
    assert http_date(header) == moment
    headers = [(b"if-modified-since", header.encode())]
    answer = respond(
        Request({"type": "http", "method": "GET", "headers": headers}),
        "text",
        media_type="text/plain",
        last_modified=CHANGED,
        cache_control="no-cache",
    )
    assert answer.status_code == (304 if moment else 200)
