"""Markdown to HTML: citations, sections, and what hostile text turns into."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html
from markdown_it.rules_core import inline

from publisher import markup as markup_module
from publisher.domain import PageSection
from publisher.markup import ATTRIBUTES, SCHEMES, TAGS, Home, sanitise, to_html
from tests.fixtures.growth import grows_with_size

ONE_TO_THREE = frozenset({1, 2, 3})


def test_citations_link_to_their_sources() -> None:
    markup = to_html("Coffee is a drink. [1] It is brewed [2][3].", ONE_TO_THREE)
    page = lxml_html.fromstring(markup.html)
    links = page.xpath("//a")
    assert [link.get("href") for link in links] == ["#source-1", "#source-2", "#source-3"]
    assert [link.text for link in links] == ["[1]", "[2]", "[3]"]
    assert {link.get("class") for link in links} == {"citation"}
    assert markup.cited == {1, 2, 3}


def test_only_the_first_citation_of_a_source_is_its_way_back() -> None:
    markup = to_html("A. [1] B. [1]\n\nC. [1]", ONE_TO_THREE)
    assert markup.html.count('id="cite-1"') == 1
    assert markup.html.count('href="#source-1"') == 3


def test_the_space_before_a_citation_is_taken_so_that_it_cannot_wrap() -> None:
    assert "drink.<a " in to_html("A drink. [1]", ONE_TO_THREE).html


@pytest.mark.parametrize(
    "text", ["[4]", "[0]", "[01]", "[1a]", "[ 1 ]", "[1234]", "`[1]`", "[[x](https://e.org) 1]"]
)
def test_what_is_no_citation_of_a_source_stays_text(text: str) -> None:
    markup = to_html(f"See {text}", ONE_TO_THREE)
    assert "#source-" not in markup.html
    assert markup.cited == frozenset()


@pytest.mark.parametrize(
    "text", [r"\[1\]", r"\[1]", "&#91;1]", r"## The list \[1\] of them", r"[\[1\]](https://e.org)"]
)
def test_brackets_of_a_source_are_no_citation(text: str) -> None:
    markup = to_html(f"A drink. [2]\n\n{text}", ONE_TO_THREE)
    assert markup.cited == {2}
    assert "#source-1" not in markup.html
    assert "[1]" in markup.html


def test_a_section_is_named_with_its_brackets_and_without_its_citations() -> None:
    markup = to_html(r"## The list \[1\] of *them* [2]", ONE_TO_THREE)
    assert markup.sections == (
        PageSection(anchor="section-the-list-1-of-them", title="The list [1] of them"),
    )
    assert markup.cited == {2}


@pytest.mark.extended
@pytest.mark.parametrize(
    "piece", ["![", "[a](", "*a_ ", "[1] ", r"\[1\] ", "> ", "`a", "<a ", "| ", "# ", "- "]
)
def test_what_is_made_to_be_slow_takes_time_by_its_length(piece: str) -> None:
    assert grows_with_size(lambda size: to_html(piece * (size // len(piece)), ONE_TO_THREE), 100_000)


def test_a_quoted_reference_definition_does_not_take_over_citations() -> None:
    markup = to_html("[1]: https://evil.example/\n\nA drink. [1]", ONE_TO_THREE)
    assert 'href="https://evil.example/"' not in markup.html
    assert markup.html.count("#source-1") == 2


def test_headings_become_sections_with_distinct_anchors() -> None:
    markup = to_html(
        "## Grind *size* [1]\n\n## Grind size\n\n### Not listed\n\n# Demoted\n\n## ☕", ONE_TO_THREE
    )
    assert markup.sections == (
        PageSection(anchor="section-grind-size", title="Grind size"),
        PageSection(anchor="section-grind-size-2", title="Grind size"),
        PageSection(anchor="section-demoted", title="Demoted"),
        PageSection(anchor="section-4", title="☕"),
    )
    page = lxml_html.fromstring(f"<div>{markup.html}</div>")
    assert [heading.get("id") for heading in page.xpath("//h2")] == [
        section.anchor for section in markup.sections
    ]
    assert not page.xpath("//h1")


def test_links_lead_away_without_telling_where_from() -> None:
    markup = to_html("[a](https://example.org/) <mailto:a@example.org>", frozenset())
    assert 'rel="external noopener noreferrer"' in markup.html
    assert 'href="mailto:a@example.org"' in markup.html


HOME = Home("https://example.org", "/sites/daily-grind/")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("https://example.org/sites/daily-grind/cold-brew", "/sites/daily-grind/cold-brew"),
        ("https://example.org/sites/daily-grind/", None),
        ("https://example.org/sites/daily-grind/../../health", None),
        ("https://example.org/sites/daily-grind/cold-brew?x=1", None),
        ("https://example.org/sites/other/cold-brew", None),
        ("https://example.org.evil.test/sites/daily-grind/cold-brew", None),
        ("http://example.org/sites/daily-grind/cold-brew", None),
    ],
)
def test_pages_of_the_same_site_are_linked_by_their_path(address: str, path: str | None) -> None:
    (link,) = lxml_html.fromstring(to_html(f"[a]({address})", frozenset(), HOME).html).xpath("//a")
    assert link.get("href") == (path or address)
    assert (link.get("rel") is None) is (path is not None)
    assert HOME.path_of(address) == path


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](/health/live)",
    "[x](//evil.example)",
    "[x](#main)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/pixel.gif)",
    '![" onload="alert(1)](x)',
    '[x](https://e.org/ "\\" onmouseover=alert(1)")',
    "<svg/onload=alert(1)>",
    "<style>body{display:none}</style>",
    '<div style="position:fixed" id="main" class="label">x</div>',
    "<!-- --><iframe src=https://evil.example></iframe>",
    "<math><mtext></table><script>x</script>",
    '## <h2 id="sources" onclick=x>',
    "```html\n<script>alert(1)</script>\n```",
    "| a | b |\n|---|:-:|\n| <script> | `</td><script>` |",
]


def assert_harmless(html: str) -> None:
    tree = lxml_html.fromstring(f"<div>{html}</div>")
    for element in tree.iterdescendants():
        assert element.tag in TAGS, html
        assert set(element.attrib) <= ATTRIBUTES.get(element.tag, set()), html
        href = element.get("href")
        assert href is None or href.startswith("#source-") or href.split(":")[0].lower() in SCHEMES, html


@pytest.mark.parametrize("markdown", HOSTILE)
def test_hostile_markdown_comes_out_harmless(markdown: str) -> None:
    assert_harmless(to_html(f"Before. [1]\n\n{markdown}\n\nAfter. [2]", ONE_TO_THREE).html)


@pytest.mark.parametrize("html", HOSTILE)
def test_hostile_html_is_sanitised_again_where_it_is_shown(html: str) -> None:
    assert_harmless(sanitise(html))


_PIECES = st.sampled_from(["word", " ", "[1]", "[12]", "[0]", "(", ")", "[", "]", "![", "*", "_", "~~", "`", "<", "&amp;", "\\", "\n", "\n\n",
                          "# ", "- ", "> ", "| a |\n| - |\n", "https://e.org", "\u00a0", "é", ":", "!", "http://[::1]"])  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_what_is_plain_reads_as_the_parser_itself_reads_it(text: str) -> None:
    markup_module._PARSER.core.ruler.at("inline", inline)
    try:
        by_the_parser = to_html(text, ONE_TO_THREE)
    finally:
        markup_module._PARSER.core.ruler.at("inline", markup_module._parse_inline)
    assert to_html(text, ONE_TO_THREE) == by_the_parser


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab 1[]()<>!*_`#|-:/\"'&;=\\\n\tjs"), max_size=80))
def test_any_markdown_comes_out_harmless_and_stays_as_it_is(markdown: str) -> None:
    html = to_html(markdown, ONE_TO_THREE).html
    assert_harmless(html)
    assert sanitise(html) == html


@pytest.mark.extended
@pytest.mark.parametrize(
    "pattern", ["[", "![", "*a_", "`", "<", "> ", "- ", "[1](", "&#", "|a", "**a ", "\\["]
)
def test_text_made_to_be_slow_is_read_in_good_time(pattern: str) -> None:
    assert grows_with_size(lambda count: to_html(pattern * count, ONE_TO_THREE), 5_000)
