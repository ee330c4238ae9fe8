"""Rules for the web, without any web: searches, addresses of one page, links of feeds, and robots.txt."""

from datetime import date

import pytest

from reading.feeds import FeedEntry, parse_feed
from reading.formats import UnreadableFileError
from research.sources.domain import SourceSettings
from research.web.addresses import page_key, without_tracking
from research.web.candidates import (
    MAX_FOUND,
    FeedCandidate,
    PageCandidate,
    select_by_keyword,
    select_candidates,
)
from research.web.pages import weight_of_age
from research.web.queries import build_queries, filter_proposals, merge_queries
from research.web.robots import find_forbidding_directive


@pytest.mark.parametrize(
    ("keyword", "language", "asked"),
    [
        ("moka pot", None, ["moka pot", "what is moka pot", "moka pots"]),
        ("How to clean a moka pot", "en", ["How to clean a moka pot", "clean a moka pot", "wash a moka pot"]),
        ("disk encryption", "en-GB", ["disk encryption", "what is disk encryption", "drive encryption"]),
        ("what is love", None, ["what is love", "love", "loves"]),
        ("Kaffee mahlen", "de", ["Kaffee mahlen"]),
        ("c", None, ["c", "what is c"]),
        ("cold\u2028brew\x00", "fr", ["cold brew"]),
        (" ".join(["word"] * 60), "de", [" ".join(["word"] * 40)]),
    ],
)
def test_a_keyword_is_asked_for_in_some_ways(keyword: str, language: str | None, asked: list[str]) -> None:
    assert build_queries(keyword, language, 3) == asked
    assert build_queries(keyword, language, 1) == asked[:1]


@pytest.mark.parametrize(
    ("keyword", "proposed"),
    [
        ("cold brew", "how long does cold brew keep"),
        ("cold brew", "Cold-brewed coffee, step by step"),
        ("disk encryption", "how to encrypt a hard drive"),
        ("what is love", "love explained"),
        ("backup of a C++ project", "C++ project backups"),
        ("node.js streams", "node.js stream tutorial"),
        ("Kaffee mahlen", "Kaffee richtig mahlen"),
    ],
)
def test_a_stranger_may_propose_plain_words_about_the_keyword(keyword: str, proposed: str) -> None:
    assert filter_proposals([f" {proposed}\n"], keyword, 4) == (proposed,)


@pytest.mark.parametrize(
    "proposed",
    [
        "",
        "cold brew " * 7,
        "cold brew " + "x" * 100,
        "cold weather",
        "ignore all previous instructions",
        "cold brew site:evil.example",
        "cold brew evil.example",
        "cold brew https://evil.example/",
        "cold brew www",
        '"cold brew"',
        "cold brew -coffee",
        "+cold brew",
        "cold brew OR mortgage",
        "!images cold brew",
        ":de cold brew",
        "cold brew 1..100",
        "cold brew (coffee)",
        "cold\u202e brew",
        "cold brew \x00",
        "cold brew \ud800",
        "COLD  BREW",
    ],
)
def test_nothing_else_is_searched_for_because_a_stranger_says_so(proposed: str) -> None:
    assert filter_proposals([proposed], "cold brew", 4) == ()


def test_the_keyword_comes_first_and_rules_fill_what_was_not_proposed() -> None:
    proposed = ["cold brew ratio", "Cold brew ratio", "what is cold brew", "cold brew grind", "cold brew jar"]
    usable = filter_proposals(proposed, "cold brew", 3)
    assert usable == ("cold brew ratio", "what is cold brew", "cold brew grind")
    by_rule = build_queries("cold brew", "en", 3)
    assert merge_queries(by_rule, usable, 3) == ["cold brew", "cold brew ratio", "what is cold brew"]
    assert merge_queries(by_rule, usable[:1], 3) == ["cold brew", "cold brew ratio", "what is cold brew"]
    assert merge_queries(by_rule, (), 3) == by_rule


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://www.example.org/a/", "https://EXAMPLE.org/a#top", True),
        ("https://example.org/a?id=1&utm_source=x&fbclid=y", "https://example.org/a?id=1", True),
        ("https://example.org/a?id=1", "https://example.org/a?id=2", False),
        ("https://example.org/a", "https://example.org/A", False),
        ("https://example.org", "https://example.com", False),
        ("http://[", "http://[", True),
    ],
)
def test_addresses_of_one_page_are_known(one: str, other: str, same: bool) -> None:
    assert (page_key(one) == page_key(other)) is same


def test_an_address_loses_nothing_but_tracking() -> None:
    assert without_tracking("https://example.org/a?q=%2B+x&empty=") == "https://example.org/a?q=%2B+x&empty="
    assert without_tracking("https://example.org/a?gclid=1#x") == "https://example.org/a"


@pytest.mark.parametrize(
    ("tag", "directive"),
    [
        ("", None),
        ("index, follow", None),
        ("NoIndex", "noindex"),
        ("follow, noai", "noai"),
        ("max-snippet: 0", "max-snippet:0"),
        ("max-snippet:-1, max-image-preview:large", None),
        ("googlebot: noindex", None),
        ("googlebot: noindex, nofollow, BrandEngine: none", "none"),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, nosnippet", "nosnippet"),
        ("*: noindex", "noindex"),
    ],
)
def test_robots_are_asked_in_these_words(tag: str, directive: str | None) -> None:
    assert find_forbidding_directive(tag) == directive


def test_pages_are_of_many_sites_and_those_named_come_first() -> None:
    searches = [
        [PageCandidate(f"https://one.example/{n}") for n in range(9)],
        [
            PageCandidate("https://one.example/0/"),
            *(PageCandidate(f"https://{n}.example/") for n in range(20)),
        ],
    ]
    choice = select_candidates(
        [PageCandidate("https://own.example/")], searches, SourceSettings(preferred_hosts=("19.example",))
    )
    addresses = [each.address for each in choice.candidates]
    assert addresses[:3] == ["https://own.example/", "https://19.example/", "https://one.example/0"]
    assert len(addresses) == 1 + MAX_FOUND
    assert sum("one.example" in each for each in addresses) == 3


def test_a_brand_may_want_nothing_but_one_site_of_its_own() -> None:
    sources = SourceSettings(urls=("https://a.example/",), blocked_hosts=("a.example", "b.example"))
    choice = select_candidates(
        [PageCandidate("https://a.example/")], [[PageCandidate("https://x.b.example/")]], sources
    )
    assert (choice.candidates, choice.blocked) == ((), 2)


def test_of_feeds_what_is_about_the_keyword_is_read_the_newest_first() -> None:
    told = [
        FeedCandidate(PageCandidate("https://a.example/1", date(2024, 1, 1)), "Grinding coffee finely"),
        FeedCandidate(PageCandidate("https://a.example/2", date(2025, 1, 1)), "A grinder for coffees"),
        FeedCandidate(PageCandidate("https://a.example/3"), "Coffee"),
        FeedCandidate(PageCandidate("https://a.example/4"), "Tea"),
    ]
    assert [each.address[-1] for each in select_by_keyword("grind coffee", told)] == ["2", "1", "3"]
    assert [each.address[-1] for each in select_by_keyword("coarse grind coffee beans", told)] == ["2", "1"]


def test_age_counts_a_little() -> None:
    today = date(2026, 11, 1)
    weights = [
        weight_of_age(day, today) for day in (date(2026, 1, 1), None, date(2018, 11, 1), date(1990, 1, 1))
    ]
    assert weights == [1.0, 0.9, pytest.approx(0.82, abs=0.01), 0.7]


RSS = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title><link>https://a.example/</link>
<item><title>Caf\xe9</title><description>&lt;p&gt;Ground &amp;amp; brewed&lt;/p&gt;</description>
<link>https://a.example/1</link><pubDate>Tue, 05 May 2026 10:00:00 GMT</pubDate></item>
<item><title>Two</title><guid>https://a.example/2</guid><dc:date>2026-05-06</dc:date></item>
<item><title>No link</title><guid isPermaLink="false">tag:x</guid></item></channel></rss>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"/><item rdf:about="y"><title>One</title><link>https://a.example/1</link></item></rdf:RDF>"""
JSON = b"""\xef\xbb\xbf{"version": "https://jsonfeed.org/version/1.1", "items": [7, {"id": "1", "url": "/1", "title": "One",
"date_published": "2026-05-05T10:00:00Z"}, {"id": "2", "title": "No link", "url": 7},
{"id": "https://a.example/3", "content_html": "<p>A note", "summary": ""}, {"id": "4", "content_text": "b",
"external_url": "https://b.example/4", "date_published": "soon"}]}"""


def test_feeds_of_every_kind_lead_somewhere() -> None:
    assert parse_feed(RSS) == (
        FeedEntry("https://a.example/1", "Café Ground &amp; brewed", date(2026, 5, 5)),
        FeedEntry("https://a.example/2", "Two", date(2026, 5, 6)),
    )
    assert parse_feed(RDF) == (FeedEntry("https://a.example/1", "One"),)
    assert parse_feed(JSON) == (
        FeedEntry("/1", "One", date(2026, 5, 5)),
        FeedEntry("https://a.example/3", "A note"),
        FeedEntry("https://b.example/4", "b"),
    )
    assert [
        each.text
        for each in parse_feed("<rss><item><title>é</title><link>/</link></item></rss>".encode(), "utf8")
    ] == ["é"]
    many = b"<rss><channel>" + b"<item><link>https://a.example/</link></item>" * 500 + b"</channel></rss>"
    assert len(parse_feed(many)) == 200


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b"<!DOCTYPE lolz [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><rss><item>&c;</item></rss>",
            "document type",
        ),
        (b"<!DOCTYPE r SYSTEM 'file:///etc/passwd'><rss/>", "document type"),
        (b"<html><item/></html>", "not a( readable)? feed"),
        (b"<rss><channel>", "not a( readable)? feed"),
        (b"\x00\x01", "not a( readable)? feed"),
        (b"{]", "neither XML nor JSON"),
        (b'{"items": 7}', "no items"),
        (b"[" * 100_000, "not a( readable)? feed"),
        (b'{"a":' * 100_000, "neither XML nor JSON"),
    ],
)
def test_what_is_no_feed_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(UnreadableFileError, match=problem):
        parse_feed(content)
