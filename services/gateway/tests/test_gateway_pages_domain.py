"""What headers say of a page."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.pages.domain import PageResponse, conditions, describe, fresh_for, kept_headers

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
THEN = "Sun, 22 Nov 2026 12:00:00 GMT"
LATER = "Sun, 22 Nov 2026 13:30:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 3600),
        ({"cache-control": "max-age=120"}, 120),
        ({"cache-control": 'public, MAX-AGE="120"'}, 120),
        ({"cache-control": "max-age=120, s-maxage=30"}, 30),
        ({"cache-control": "max-age=999999999999999999999"}, 7 * 86400),
        ({"cache-control": "max-age=-5"}, 0),
        ({"cache-control": "max-age=soon", "expires": LATER}, 0),
        ({"cache-control": "no-cache"}, 0),
        ({"cache-control": 'private, no-cache="set-cookie"'}, 0),
        ({"cache-control": "max-age=60, no-store"}, None),
        ({"vary": " * "}, None),
        ({"vary": "Accept-Encoding"}, 3600),
        ({"expires": LATER, "date": THEN}, 5400),
        ({"expires": LATER}, 5400),
        ({"expires": THEN, "date": LATER}, 0),
        ({"expires": "-1"}, 0),
        ({"cache-control": "max-age=10", "expires": LATER}, 10),
        ({"last-modified": "Sun, 22 Nov 2026 10:20:00 GMT"}, 600),
        ({"last-modified": "Sun, 22 Nov 2020 10:20:00 GMT"}, 86400),
        ({"last-modified": LATER}, 0),
        ({"last-modified": "yesterday"}, 3600),
    ],
)
def test_how_long_an_answer_is_good(headers: dict[str, str], seconds: int | None) -> None:
    assert fresh_for(headers, NOW) == (None if seconds is None else timedelta(seconds=seconds))


def page(**headers: str) -> PageResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return PageResponse("http://a.example/", "http://a.example/b/c", named, b"", NOW, NOW)


@pytest.mark.parametrize(
    ("link", "canonical", "licence"),
    [
        ('<d>; rel="canonical"', "http://a.example/b/d", None),
        ("<//x.example/>;rel=canonical;x=y, </l>; title=\"a, b\"; rel='license'", "http://x.example/", None),
        ('</l>; rel="LICENSE nofollow"', None, "http://a.example/l"),
        ("<javascript:x>; rel=canonical", None, None),
        ("<d>", None, None),
        ("canonical", None, None),
        ("", None, None),
    ],
)
def test_links_in_the_header(link: str, canonical: str | None, licence: str | None) -> None:
    found = describe(page(link=link))
    assert (found.canonical, found.licence) == (canonical, licence)


def test_what_is_not_said_is_not_known() -> None:
    found = describe(page(content_language="<b>", content_type="text/html;charset="))
    assert (found.media_type, found.charset, found.language) == ("text/html", None, None)
    assert (describe(page()).media_type, describe(page()).last_modified) == ("", None)


def test_only_what_is_of_use_is_kept_and_no_more_of_it_than_that() -> None:
    assert kept_headers({"set-cookie": "a=b", "etag": 'W/"1\x00"', "link": "x" * 9000}) == {
        "etag": 'W/"1"',
        "link": "x" * 4000,
    }


def test_a_page_is_asked_for_again_by_its_mark() -> None:
    assert conditions(page(etag='"1"', last_modified=THEN)) == {"If-None-Match": '"1"'}
    assert conditions(page(last_modified=THEN)) == {"If-Modified-Since": THEN}
    assert conditions(page()) == {}
