"""What is drawn from a documentation, and how many words its own counter finds."""

import random
from pathlib import Path

import pytest

from tests.articles.documentations import CORPORA, choose_folder
from tests.articles.keyword_draw import (
    DrawnKeyword,
    draw_off_topic,
    draw_treated,
    is_typed,
    read_marketers_keywords,
    stems_of,
)
from tests.articles.raw_pages import RawDocumentation, clean_title, find_site_names, read_folder, read_page

_FILLER = "word " * 160


def _documentation(*pages: tuple[str, str]) -> RawDocumentation:
    read = [read_page(path, html.encode()) for path, html in pages]
    return RawDocumentation({page.path: page for page in read if not page.is_redirect})


def _page(title: str, body: str) -> str:
    return f"<html><head><title>{title}</title></head><body>{body}</body></html>"


@pytest.mark.parametrize(
    ("title", "typed"),
    [
        ("13.3. Graphical Desktops", "Graphical Desktops"),
        ("7.1 Global Variables", "Global Variables"),
        ("5 - Porting to another system", "Porting to another system"),
        ("Chapter 9. Unix Services", "Unix Services"),
        ("B.4.4. Managing Processes", "Managing Processes"),
        ("smtp(8)", "smtp"),
        ("Quick Start¶", "Quick Start"),
        ("borg create — Borg 1.2 documentation", "borg create"),
        ("Manual - postfix(1)", "postfix"),
        ("Global Variables (GNU Octave (version 7))", "Global Variables"),
        ("A Simple Example", "A Simple Example"),
        ("32-bit systems", "32-bit systems"),
    ],
)
def test_titles_are_cut_as_people_type_them(title: str, typed: str) -> None:
    assert clean_title(title, ("Borg 1.2 documentation", "GNU Octave (version 7))", "Manual")) == typed


def test_what_many_titles_end_or_begin_with_is_the_site() -> None:
    titles = ["Kilns - Clay Works", "Glazes - Clay Works", "Clay - raw - Clay Works", "Wheels: old and new"]
    assert find_site_names(titles) == ("Clay Works",)


def test_sections_reach_to_the_next_heading_of_their_level() -> None:
    body = """<nav>Home Shop</nav><h1>Kilns</h1><p>one two</p><h2>Gas</h2><p>three <b>four</b> five</p>
        <h3>Burners</h3><p>six</p><h2>Wood</h2><p>seven</p><div class="footer">eight</div>"""
    documentation = _documentation(("kilns.html", _page("Kilns", body)))
    assert [(each.text, each.path, each.words) for each in documentation.headings] == [
        ("Kilns", ("Kilns",), 7),
        ("Gas", ("Kilns", "Kilns"), 4),
        ("Burners", ("Kilns", "Kilns", "Gas"), 1),
        ("Wood", ("Kilns", "Kilns"), 1),
    ]


def test_listings_count_for_80_words_unless_the_page_is_one() -> None:
    listing = "<pre>" + "code " * 100 + "</pre>"
    assert read_page("a.html", _page("A", "<p>" + "text " * 120 + "</p>" + listing).encode()).words == 200
    assert read_page("b.html", _page("B", listing).encode()).words == 100


def test_entries_of_an_index_have_the_words_of_the_place_they_lead_to() -> None:
    body = """<h1>Glazes</h1><p>one two three</p><a id="index-ash"></a><h2>Ash</h2><p>four</p>
        <dl><dt id="index-salt">salt</dt><dd>five six <a id="index-rare"></a></dd><dt>rare</dt><dd>seven</dd></dl>"""
    terms = {"ash": "ash (glaze)", "salt": "glazes, salt", "rare": "rare"} | {
        each: each for each in "abcdefgh"
    }
    links = "".join(f'<li><a href="glazes.html#index-{to}">{term}</a></li>' for to, term in terms.items())
    moved = '<html><head><meta http-equiv="Refresh" content="0; url=x"></head><body>Ash</body></html>'
    documentation = _documentation(
        ("glazes.html", _page("Glazes", body)),
        ("genindex.html", _page("Index", f"<ul>{links}</ul>")),
        ("moved.html", moved),
    )
    words = {entry.term: entry.words for entry in documentation.entries}
    assert (words["ash"], words["salt glazes"], words["rare"]) == (6, 2, 1)
    assert "moved.html" not in documentation.pages


@pytest.fixture
def manual() -> RawDocumentation:
    def page(n: int) -> tuple[str, str]:
        glaze = f"<h2>Glazing pot {n}x</h2><p>{_FILLER}</p><h2>Short {n}x</h2><p>few</p><h2>See also</h2><p>{_FILLER}</p>"
        return f"p{n}.html", _page(
            f"{n}. Kiln kind{n}", f"<h1>{n}. Kiln kind{n}</h1>{glaze}<p>{'shelf cone ' * n}</p>"
        )

    return _documentation(*map(page, range(1, 21)), ("p30.html", _page("Kilns kind7", "<p>copy</p>")))


def test_titles_and_long_sections_are_drawn_and_others_fill_up(manual: RawDocumentation) -> None:
    drawn = draw_treated(manual, "pots")
    kinds = [each.kind for each in drawn]
    assert (len(drawn), kinds.count("title"), kinds.count("heading")) == (30, 15, 15)
    assert all(each.words >= 150 for each in drawn if each.kind == "heading")
    assert not any(each.keyword.startswith(("Short", "See also")) for each in drawn)
    assert len({stems_of(each.keyword) for each in drawn}) == 30, "Kiln kind7 and Kilns kind7 are one"
    assert drawn == draw_treated(manual, "pots") != draw_treated(manual, "other pots")


def test_off_topic_keywords_are_of_the_documentation_but_not_its_subjects(manual: RawDocumentation) -> None:
    titled = [each.text for each in manual.headings][:30]
    random.Random(1).shuffle(titled)
    foreign = [*titled, *(f"mortgage number{n}" for n in range(10))]
    drawn = draw_off_topic(manual, foreign, "pots")
    assert sorted(each.keyword for each in drawn if each.kind == "foreign") == sorted(foreign[-10:])
    named = [stems_of(" ".join((heading.text, *heading.path))) for heading in manual.headings]
    own = [stems_of(each.keyword) for each in drawn if each.kind == "own words"]
    assert not any(pair <= each for pair in own for each in named)


def test_pairs_of_own_words_do_not_stand_together_in_a_heading() -> None:
    pages = [(f"{n}.html", _page(f"page{n}", "<p>nothing</p>")) for n in range(9)]
    pages.append(("k.html", _page("Kilns", f"<p>{'glazes shelves burners ' * 6}</p>")))
    pages.append(("g.html", _page("Firing", "<h2>Kiln glaze</h2><h2>Shelves of a kiln</h2>")))
    drawn = draw_off_topic(_documentation(*pages), ["mortgage rates"], "pots", each=1)
    assert drawn[1] == DrawnKeyword("mortgage rates", "foreign")
    assert drawn[0].keyword in {"kilns burners", "firing burners"}, "the only word that no heading has"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Global Variables", True),
        ("See also", False),
        ("Version 1.1.10 (2019-05-16)", False),
        ("-o", False),
        ("How the long headings of this manual go on and on", False),
    ],
)
def test_names_of_parts_are_no_keywords(text: str, typed: bool) -> None:
    assert is_typed(text) is typed


def test_the_documentation_is_the_largest_folder_with_a_front_page_and_the_english_one() -> None:
    def pages(folder: str, n: int) -> list[Path]:
        return [Path(folder) / "index.html", *(Path(folder) / f"sub/{i}.html" for i in range(n))]

    assert choose_folder(pages("/doc/x/html", 3) + pages("/doc/x/examples", 2)) == Path("/doc/x/html")
    translated = pages("/doc/x/zh-TW", 3) + pages("/doc/x/en-US", 3)
    assert choose_folder(translated) == Path("/doc/x/en-US")
    assert choose_folder([Path("/doc/x/a.html"), Path("/doc/x/b.html")]) == Path("/doc/x")


@pytest.mark.parametrize("name", CORPORA)
def test_each_marketers_keyword_has_a_page_with_enough_words(name: str) -> None:
    keywords = read_marketers_keywords(name, read_folder(CORPORA[name]))
    assert len(keywords) == len({stems_of(each.keyword) for each in keywords}) == 30
    assert all(150 <= each.words <= 500 for each in keywords)
