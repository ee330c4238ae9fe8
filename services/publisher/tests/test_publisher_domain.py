"""Decisions about addresses, text and refusals."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from publisher import domain
from publisher.domain import Article, CitedSource, PageSlug, clean_line, clean_text, free_slug, wanted_slug

CONTENT_ID = UUID("0192f0c1-2b3c-7d4e-8f50-61728394a5b6")


def an_article(**changes: Any) -> Article:
    document = {
        "content_id": CONTENT_ID,
        "brand": {"slug": "daily-grind", "name": "The Daily Grind", "description": "", "language": "en"},
        "keyword": "cold brew",
        "slug": "cold-brew",
        "title": "Cold brew",
        "meta_description": "How to make it.",
        "body_markdown": "Steep it. [1]",
        "word_count": 2,
        "key_points": [],
        "label": None,
        "sources": [{"n": 1, "title": "Steeping", "url": None, "path": "steeping.md", "licence": None}],
        "updated_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return Article.model_validate(document | changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "cold-brew"),
        ({"slug": "../../etc/passwd"}, "etc-passwd"),
        ({"slug": "a b?c=d#e\r\nLocation: x"}, "a-b-c-d-e-location-x"),
        ({"slug": "Crème Brûlée"}, "creme-brulee"),
        ({"slug": "", "title": "Cold Brew at Home"}, "cold-brew-at-home"),
        ({"slug": "☕️", "title": "☕️🫘"}, str(CONTENT_ID)),
    ],
)
def test_an_address_is_safe_in_a_url_whatever_was_wanted(changes: dict[str, str], expected: str) -> None:
    assert wanted_slug(an_article(**changes)) == expected


@given(st.text(), st.text())
def test_every_address_is_a_slug(slug: str, title: str) -> None:
    assert domain.is_slug(wanted_slug(an_article(slug=slug, title=title)))


def test_a_long_address_ends_between_words() -> None:
    slug = wanted_slug(an_article(slug="brew " * 60))
    assert len(slug) <= 80
    assert set(slug.split("-")) == {"brew"}


def test_the_second_article_of_an_address_gets_the_next_number() -> None:
    assert free_slug(PageSlug("a"), set()) == "a"
    assert free_slug(PageSlug("a"), {"a"}) == "a-2"
    assert free_slug(PageSlug("a"), {"a", "a-2", "a-3", "a-5"}) == "a-4"
    assert free_slug(PageSlug("a"), {"a-2"}) == "a"


def test_unprintable_and_deceptive_characters_do_not_reach_a_page() -> None:
    assert clean_line("nul\x00 \x1bescape \u202eoverride\u202c \u2066isolate\u2069 zero\u200bwidth") == (
        "nul escape override isolate zerowidth"
    )
    assert clean_line("hidden\U000e0041\U000e0042 tags\ufeff\ufffe") == "hidden tags"
    assert clean_line("one\r\ntwo\u2028three") == "one two three"
    assert clean_text("one\r\ntwo\rthree\tfour") == "one\ntwo\nthree\tfour"


def test_emoji_and_joiners_of_other_scripts_stay() -> None:
    assert clean_line("👩‍🍳 می‌خواهم café") == "👩‍🍳 می‌خواهم café"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"title": " \u200b "}, "empty_title"),
        ({"body_markdown": "\n\x00\n"}, "empty_article"),
        (
            {"brand": {"slug": "b", "name": " ", "description": "", "language": "en"}},
            "empty_brand_name",
        ),
        ({"held_for": ["231 words, of at least 250"]}, "needs_review"),
    ],
)
def test_what_cannot_be_a_page_is_refused_with_a_reason(changes: dict[str, Any], reason: str) -> None:
    problem = domain.publish_refusal(an_article(**changes))
    assert problem is not None
    assert problem.reason == reason


def test_an_article_in_order_is_not_refused() -> None:
    assert domain.publish_refusal(an_article()) is None


def test_two_sources_with_one_number_break_the_contract() -> None:
    source = {"n": 1, "title": "a", "url": None, "path": None, "licence": None}
    with pytest.raises(ValidationError, match="same number"):
        an_article(sources=[source, source])


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://example.org/a?b=c", "https://example.org/a?b=c"),
        ("HTTP://EXAMPLE.ORG", "HTTP://EXAMPLE.ORG"),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("data:text/html,x", None),
        ("//example.org/a", None),
        ("https://", None),
        ("http://[::1", None),
        ("", None),
        (None, None),
    ],
)
def test_only_web_addresses_become_links(url: str | None, link: str | None) -> None:
    assert CitedSource(n=1, title="t", url=url).link == link


def test_reading_time_is_never_zero() -> None:
    assert [domain.reading_minutes(words) for words in (0, 1, 230, 231, 2300)] == [1, 1, 1, 2, 10]


@pytest.mark.parametrize(
    ("given_tag", "tag", "direction"),
    [
        ("en", "en", "ltr"),
        ("pt-BR", "pt-BR", "ltr"),
        ("ar-EG", "ar-EG", "rtl"),
        ('en" onload="x', "en", "ltr"),
    ],
)
def test_language_tags_are_safe_in_an_attribute(given_tag: str, tag: str, direction: str) -> None:
    assert domain.language_tag(given_tag) == tag
    assert domain.direction(domain.language_tag(given_tag)) == direction


def test_the_icon_shows_the_first_letter_or_digit() -> None:
    assert [domain.initial(name) for name in ("the grind", "☕ 3 beans", "☕", "ßet")] == ["T", "3", "•", "S"]


@pytest.mark.parametrize(
    ("description", "text", "expected"),
    [
        ("Steep it. Then wait.", "Steep it. Then wait. More.", ""),
        ("Steep it.", "## Time Steep it. More.", ""),
        ("A guide to steeping.", "Steep it. Then wait.", "A guide to steeping."),
        ("Steep it.", "x" * 500 + "Steep it.", "Steep it."),
        ("", "Steep it.", ""),
    ],
)
def test_the_opening_words_are_not_printed_twice(description: str, text: str, expected: str) -> None:
    assert domain.standfirst(description, text) == expected
