"""A document's statements about itself: its name without its site's, its licence, and the day it was written."""

from datetime import date

import pytest

from reading.extraction import extract
from reading.facts import strip_section_number, web_address

PROSE = "Grind the beans to a medium size before you brew, and weigh them with a scale."


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        (
            "<title>8.1. Grinding — Brewing 3.11.2 documentation</title>",
            "<h1>8.1. Grinding¶</h1>",
            "Grinding",
        ),
        ("<title>Grinding | The Daily Grind</title>", "<h1>Grinding</h1>", "Grinding"),
        ("<title>Grinding - Brewing</title>", "<h1>Grinding<a href='#g'>\uf0c1</a></h1>", "Grinding"),
        ("<title>The Daily Grind: Brewing: Grinding</title>", "<h1>Grinding</h1>", "Grinding"),
        (
            "<title>Grinding: by hand | Brewing tips</title>",
            "<h1>Grinding: by hand</h1>",
            "Grinding: by hand",
        ),
        ("<title>Grinding - Brewing documentation</title>", "", "Grinding"),
        (
            "<title>Grinding - Brewing 3.11.2 documentation</title>",
            '<h1><a href="index.html">Brewing 3.11.2 documentation</a></h1><h1>Grinding</h1>',
            "Grinding",
        ),
        (
            '<title>Grinding – The Daily Grind</title><meta property="og:site_name" content="The Daily Grind">',  # noqa: RUF001
            "",
            "Grinding",
        ),
        ("<title>Chapter 25. Grinding</title>", "<h1>Chapter 25. Grinding</h1>", "Grinding"),
        (
            "<title>Grinding: a guide for beginners</title>",
            "<h1>Welcome</h1>",
            "Grinding: a guide for beginners",
        ),
        ("<title>Cold-brew coffee</title>", "", "Cold-brew coffee"),
        ("<title>3.5 litres of coffee</title>", "", "3.5 litres of coffee"),
    ],
)
def test_the_title_is_the_pages_own(head: str, body: str, title: str) -> None:
    document = extract(
        "a.html", f"<html><head>{head}</head><body>{body}<p>{PROSE}</p></body></html>".encode()
    )
    assert document.title == title


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ("8.20. pg_lsn type", "pg_lsn type"),
        ("O.4. pg_resetxlog renamed", "pg_resetxlog renamed"),
        ("8.1 Syntax errors", "Syntax errors"),
        ("2.5 million cups", "2.5 million cups"),
    ],
)
def test_a_chapters_number_is_told_from_a_figure(heading: str, shown: str) -> None:
    assert strip_section_number(heading) == shown


def test_numbers_of_chapters_are_no_part_of_a_heading() -> None:
    document = extract("a.html", f"<h1>Brewing</h1><h2>25.1.3. Water</h2><p>{PROSE}</p>".encode())
    assert document.passages[0].heading == "Water"


@pytest.mark.parametrize(
    "said",
    [
        '<meta property="article:published_time" content="2024-05-01T10:00:00Z">',
        (
            '<meta property="article:published_time" content="2020-01-01">'
            '<meta property="article:modified_time" content="2024-05-01">'
        ),
        '<meta itemprop="datePublished" content="2024-05-01">',
        '<p><time datetime="2024-05-01">in spring</time></p>',
        '<time class="entry-date published" datetime="2024-05-01">x</time><time datetime="1999-01-01">y</time>',
        '<script type="application/ld+json">{"@type": "Article", "datePublished" : "2024-05-01T08:00"}</script>',
        "<p>Last updated: <b>1 May 2024</b></p>",
        "<div>Last updated on Wednesday, May 1st, 2024.</div>",
        "<footer>Last updated 2024-05-01 10:11:12 UTC</footer>",
        "<span>Published on</span> <span>May 1, 2024</span>",
        "<p>This page was last changed on 1 May 2024.</p>",
    ],
)
def test_a_page_tells_its_date(said: str) -> None:
    assert extract("a.html", f"<body>{said}<p>{PROSE}</p></body>".encode()).published_on == date(2024, 5, 1)


@pytest.mark.parametrize(
    "said",
    [
        "<p>The first espresso machine was shown in Turin; the patent was published on 16 May 1884.</p>",
        '<p>From <time datetime="1884-05-16">1884</time> to <time datetime="1901-12-19">1901</time>.</p>',
        "<p>Last updated on 45 May 2024.</p>",
        "<pre>Last updated on 1 May 2024</pre>",
    ],
)
def test_a_date_in_the_text_is_not_its_own(said: str) -> None:
    assert extract("a.html", f"<body>{said}<p>{PROSE}</p></body>".encode()).published_on is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", f"---\nlast_modified: 2024-05-01\n---\n{PROSE}"),
        ("a.md", f"# Brewing\n\n*Last updated: 1 May 2024*\n\n{PROSE}"),
        ("a.rst", f"Brewing\n=======\n\n:Date: 2024-05-01\n\n{PROSE}"),
        ("a.adoc", f"= Brewing\nJane Doe <jane@example.org>\nv1.2, 2024-05-01\n\n{PROSE}"),
        ("a.txt", f"About brewing\n\nPublished: 2024-05-01\n\n{PROSE}"),
    ],
)
def test_a_text_tells_its_date(name: str, text: str) -> None:
    assert extract(name, text.encode()).published_on == date(2024, 5, 1)


@pytest.mark.parametrize(
    ("head", "author"),
    [
        ('<meta name="author" content="Ada  Lovelace">', "Ada Lovelace"),
        ('<meta name="parsely-author" content="By Ada Lovelace">', "Ada Lovelace"),
        ('<meta property="article:author" content="https://example.org/people/ada">', None),
        ('<meta name="author" content="@ada">', None),
        (
            '<meta name="author" content="https://x.example"><meta name="citation_author" content="A. L.">',
            "A. L.",
        ),
        (f'<meta name="author" content="{"Ada, " * 40}">', None),
        ("", None),
    ],
)
def test_the_author_is_a_name_or_nobody(head: str, author: str | None) -> None:
    page = f"<html><head>{head}</head><body><p>{PROSE}</p></body></html>"
    assert extract("a.html", page.encode()).author == author
    assert extract("a.md", f"---\nauthor: 'Ada Lovelace'\n---\n{PROSE}".encode()).author == "Ada Lovelace"


@pytest.mark.parametrize(
    ("stated", "address"),
    [
        (" https://example.org/a?b=c#d ", "https://example.org/a?b=c#d"),
        ("HTTP://EXAMPLE.ORG", "HTTP://EXAMPLE.ORG"),
        ("https://[::1]:8443/ä", "https://[::1]:8443/ä"),
        ("https://user:secret@example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org@evil.example/", "https://evil.example/"),
        ("https://example.org/a//b@c", "https://example.org/a//b@c"),
        ("https://example.org\\@evil.example/", None),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("https://example.org/a b", None),
        ("https://example.org/\u2028b", None),
        ("https://example.org:0/", None),
        ("//example.org/a", None),
        ("https://", None),
        ("http://[::1", None),
        (f"https://example.org/{'a' * 2000}", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_is_one_of_the_web_and_names_no_user(stated: str | None, address: str | None) -> None:
    assert web_address(stated) == address
