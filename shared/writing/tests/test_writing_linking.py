"""Links from an article to earlier ones of its brand: where they stand, where they do not, and what cannot get in by them."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from writing.body import Body
from writing.linking import MAX_LINKS, LinkableArticle, add_links

SITE = "https://site.test/sites/daily-grind/"
GRINDER = LinkableArticle("burr grinder", "Burr grinders: sizes and steps", f"{SITE}burr-grinder")
FILTER = LinkableArticle("paper filter", "Paper filter", f"{SITE}paper-filter")
COLD_BREW = LinkableArticle("cold brew", "Cold brew: ratio and time", f"{SITE}cold-brew")
FIRST = "Pour-over is a way of brewing with a burr grinder. [1]"


def read(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The text for readers without its links, and each link as (words, address)."""
    text: list[str] = []
    links: list[tuple[str, str]] = []
    for block in MarkdownIt("commonmark").parse(markdown):
        for token in block.children or [block]:
            if token.type == "link_open":
                links.append(("", str(token.attrs["href"])))
                text.append("\0")
            elif token.type == "link_close":
                text.append("\0")
            else:
                text.append(token.content)
                if text.count("\0") % 2:
                    links[-1] = (links[-1][0] + token.content, links[-1][1])
    return "".join(text).replace("\0", ""), links


def links_in(
    *paragraphs: str, keyword: str = "pour-over coffee", to: tuple[LinkableArticle, ...] = ()
) -> list[str]:
    """The words that became links in what follows the opening paragraph."""
    markdown = "\n\n".join((FIRST, *paragraphs)) + "\n"
    result, count = add_links(Body(markdown), keyword=keyword, published=to or (GRINDER, FILTER, COLD_BREW))
    text, links = read(result)
    assert text == read(markdown)[0]
    assert len(links) == count
    return [words for words, _ in links]


def test_the_first_place_of_each_earlier_article_becomes_a_link() -> None:
    body = (
        f"{FIRST} A paper filter holds back oil. [1]\n\n## Burr grinder\n\n"
        "A burr grinder and a paper filter are all it takes. [2]\n\n- Rinse the paper filters first. [2]\n"
    )

    result, count = add_links(Body(body), keyword="pour-over coffee", published=(GRINDER, FILTER))

    assert count == 2
    assert result == (
        f"{FIRST} A [paper filter]({FILTER.url}) holds back oil. [1]\n\n## Burr grinder\n\n"
        f"A [burr grinder]({GRINDER.url}) and a paper filter are all it takes. [2]\n\n- Rinse the paper filters first. [2]\n"
    )


@pytest.mark.parametrize(
    ("paragraph", "found"),
    [
        ("Paper filters take out oil. [2]", ["Paper filters"]),
        ("A PAPER-FILTER takes out oil. [2]", ["PAPER-FILTER"]),
        ("1. Wet the paper filter. [2]", ["paper filter"]),
        ("## Paper filter", []),
        ("> A paper filter takes out oil. [2]", []),
        ("```\npaper filter\n```", []),
        ("    paper filter", []),
        ("| paper filter | oil |", []),
        ("Type `paper filter` into the field. [2]", []),
        ("Type ``a ` paper filter`` into the field, or a paper filter. [2]", []),
        ("“A paper filter takes out oil”, Menu says. [2]", []),
        ("“Oil”, Menu says of a paper filter, “is good.” [2]", ["paper filter"]),
        ("See the [paper filter](https://elsewhere.test/). [2]", ["paper filter"]),
        ("Newspaper filters and a paper filtering machine are others. [2]", []),
        ("A non-paper filter is another. [2]", []),
        ("Some paper [1] filter it. [2]", []),
        ("The filter paper is another. [2]", []),
    ],
)
def test_where_a_link_may_stand(paragraph: str, found: list[str]) -> None:
    markdown = f"{FIRST}\n\n{paragraph}\n"
    result, _ = add_links(Body(markdown), keyword="pour-over coffee", published=(FILTER,))
    text, links = read(result)
    assert text == read(markdown)[0]
    assert [words for words, _ in links] == found


def test_an_article_is_never_linked_with_its_own_subject() -> None:
    assert links_in("Cold brews keep for a week. [1]", keyword="cold brew") == []
    # What is about something narrower is no place for the wider either.
    assert links_in("A cold brew ratio of one to eight suits most. [1]", keyword="cold brew ratio") == []
    assert links_in("Any cold brew keeps for a week. [1]", keyword="cold brew ratio") == ["cold brew"]
    assert links_in("A cold brew grinds on. [1]", keyword="brew") == ["cold brew"]


def test_the_longer_name_wins_and_a_paragraph_has_one_link() -> None:
    narrower = LinkableArticle("burr grinder settings", "Settings", f"{SITE}settings")
    paragraph = "The burr grinder settings of a burr grinder go with a paper filter. [1]"
    assert links_in(paragraph, to=(GRINDER, narrower, FILTER)) == ["burr grinder settings"]


def test_there_are_at_most_a_few_links() -> None:
    many = tuple(LinkableArticle(f"subject {n}", "", f"{SITE}{n}") for n in range(20))
    paragraphs = [f"This is about subject {n} and its uses. [1]" for n in range(20)]
    assert links_in(*paragraphs, to=many) == [f"subject {n}" for n in range(MAX_LINKS)]


@pytest.mark.extended
@pytest.mark.parametrize(
    "piece", ["`", "`a", "[", "[a](", "\\[", "*", "[1] ", "“paper filter ", "paper filter "]
)
def test_long_texts_are_linked_in_bounds(piece: str) -> None:
    began = time.process_time()
    add_links(
        Body(f"{FIRST}\n\n{piece * (200_000 // len(piece))}"), keyword="pour-over coffee", published=(FILTER,)
    )
    assert time.process_time() - began < 60


HOSTILE = (
    "](javascript:alert(1))",
    "[click](https://evil.test)",
    "<script>alert(1)</script>",
    "paper .* filter (",
    "(?:a+)+$",
    "\\",
    "*paper* **filter**",
    "`paper filter`",
    "[1]",
    "",
    "…",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_another_article_gets_into_this_one(name: str) -> None:
    hostile = LinkableArticle(name, name, "https://site.test/a b)<x>[y](z)&copy=1\\")
    body = f"{FIRST}\n\nA paper filter alert click script of evil test aaaa {'a' * 40} takes out oil. [2]\n"

    result, count = add_links(Body(body), keyword="pour-over coffee", published=(hostile,))

    text, links = read(result)
    assert text == read(body)[0]
    assert len(links) == count
    for _, address in links:
        assert address == "https://site.test/a%20b%29%3Cx%3E%5By%5D%28z%29&copy=1%5C"


@given(
    st.text(alphabet='ab _*[]()`\\!#>|-\n1.“”"', max_size=80),
    st.text(alphabet="ab _-", min_size=1, max_size=8),
)
def test_a_link_never_changes_what_is_read(text: str, name: str) -> None:
    escaped = re.sub(r"([\\`*_\[\]<>&~|{}#$!^])", r"\\\1", " ".join(text.split()))
    body = f"{FIRST}\n\nSo: {escaped} aaaa bbbb [1]\n"
    result, _ = add_links(
        Body(body),
        keyword="pour-over coffee",
        published=(LinkableArticle(name * 2, "aaaa", GRINDER.url), LinkableArticle("bbbb", "", FILTER.url)),
    )
    assert read(result)[0] == read(body)[0]
