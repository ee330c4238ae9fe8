"""Renders Markdown as safe HTML. Trusts no input: articles quote the open web."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from slugify import slugify

from chassis.links import public_link
from publisher.domain import SLUG_PATTERN, PageSection, clean_line
from publisher.figures import figure_of

# Raise it when the HTML from the same Markdown changes: the next publication renders pages of older versions anew,
# even if the article itself did not change.
MARKUP_VERSION = 4

TAGS = {
    *("h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code"),
    *("em", "strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    "a": {"href", "id", "class", "rel", "aria-label"},
    "h2": {"id"},
    "ol": {"start"},
}
SCHEMES = {"http", "https", "mailto"}

_EXTERNAL = "external noopener noreferrer"
_ALLOWED_VALUES = {
    "id": re.compile(r"section-[a-z0-9-]+|cite-[0-9]+"),
    "class": re.compile(r"citation"),
    "rel": re.compile(_EXTERNAL),
    "aria-label": re.compile(r"Source [0-9]+"),
    "start": re.compile(r"[0-9]{1,9}"),
    # Relative addresses in an article lead to its sources or to pages of its site.
    "href": re.compile(
        r"#source-[0-9]+|/(?:[\w.~%-]+/)*sites/[a-z0-9-]+/[a-z0-9-]+|(?:https?://|mailto:).*",
        re.IGNORECASE | re.DOTALL,
    ),
}
_CITATION = re.compile(r"[ \u00a0]?\[([1-9][0-9]{0,2})\]")
# Text without special meaning in Markdown, numbers in brackets included.
_PLAIN = re.compile(r"(?:[^\n\\`*_~<>&!\[\]]++|\[[0-9]++\](?!\())*+")


@dataclass(frozen=True, slots=True)
class Markup:
    html: str
    sections: tuple[PageSection, ...]
    cited: frozenset[int]
    figure: str | None
    """The first figure of its tables, as JSON."""


def _plain_image(
    _renderer: object, tokens: Sequence[Token], index: int, _options: object, _env: object
) -> str:
    # The pages' policy would block external pictures, and loading them would reveal readers to third parties; the
    # description stays.
    return nh3.clean_text(tokens[index].content)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # A quoted "[1]: https://…" must not turn every citation [1] into a link to that address.
    parser.disable("reference")
    parser.add_render_rule("image", _plain_image)
    parser.core.ruler.at("inline", _parse_inline)
    # Runs before escaped characters are restored: "\\[1]" is source text, no citation.
    parser.core.ruler.before("text_join", "citations", _link_citations)
    return parser


@dataclass(frozen=True, slots=True)
class Home:
    """The addresses of the site that a text belongs to."""

    origin: str
    """`https://example.org`"""
    path: str
    """`/news/sites/daily-grind/`"""
    own: str | None = None
    """The site's own address, if it has one: `https://blog.example.org/`"""

    def path_of(self, url: str) -> str | None:
        """The path of a page of this site; None for any other address."""
        for site in filter(None, (self.origin + self.path, self.own)):
            page = url.removeprefix(site)
            if page != url and SLUG_PATTERN.fullmatch(page):
                return self.path + page
        return None


def to_html(markdown: str, sources: frozenset[int], home: Home | None = None) -> Markup:
    r"""Renders an article's Markdown.

    `[n]` becomes a link to `#source-n` for each n of `sources`; the first one carries the id `cite-n`, for the way
    back. Other numbers stay, and so does `\[n]`. Second-level headings get ids and become the sections; a first-level
    heading becomes second-level, because the title is the page's own. HTML in the input becomes visible text. Links to
    other pages of `home` become paths, like all links inside a page; other links are marked as external.
    """
    cited: set[int] = set()
    environment: dict[str, Any] = {"sources": sources, "cited": cited, "home": home}
    tokens = _PARSER.parse(markdown, environment)
    sections = tuple(_name_sections(tokens))
    html = sanitise(_PARSER.renderer.render(tokens, _PARSER.options, environment))
    figure = next(filter(None, map(figure_of, _tables(tokens))), None)
    return Markup(html, sections, frozenset(cited), figure.as_json() if figure else None)


def sanitise(html: str) -> str:
    """Keeps only the tags, attributes, values and URL schemes above; idempotent."""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_allowed,
        url_schemes=SCHEMES,
        link_rel=None,
        strip_comments=True,
    )


def plain_text(html: str) -> str:
    """The text without tags and citations."""
    text = unescape(nh3.clean(html, tags=set(), attributes={}, link_rel=None))
    return " ".join(_CITATION.sub("", text).split())


def _allowed(_tag: str, attribute: str, value: str) -> str | None:
    pattern = _ALLOWED_VALUES.get(attribute)
    if pattern is None or not pattern.fullmatch(value):
        return None
    is_web = attribute == "href" and value[:4].casefold() == "http"
    return public_link(value) if is_web else value


def _name_sections(tokens: Sequence[Token]) -> Iterator[PageSection]:
    taken: set[str] = set()
    for index, token in enumerate(tokens):
        if token.tag == "h1":
            token.tag = "h2"
        if token.type == "heading_open" and token.tag == "h2":
            title = _plain_text(tokens[index + 1]).strip()
            if not title:
                continue
            anchor = _free_anchor(title, taken)
            token.attrSet("id", anchor)
            yield PageSection(anchor=anchor, title=title)


def _tables(tokens: Sequence[Token]) -> Iterator[list[list[str]]]:
    """The cells of each table as text, row by row."""
    rows: list[list[str]] = []
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in {"th_open", "td_open"}:
            rows[-1].append(clean_line(_plain_text(tokens[index + 1])))
        elif token.type == "table_close":
            yield rows


def _free_anchor(title: str, taken: set[str]) -> str:
    stem = f"section-{slugify(title, max_length=60, word_boundary=True) or len(taken) + 1}"
    anchor, number = stem, 1
    while anchor in taken:
        number += 1
        anchor = f"{stem}-{number}"
    taken.add(anchor)
    return anchor


def _plain_text(inline: Token) -> str:
    """The text without citations."""
    parts: list[str] = []
    inside_citation = False
    for child in inline.children or ():
        if child.type in {"link_open", "link_close"}:
            inside_citation = child.attrGet("class") == "citation"
        elif not inside_citation:
            parts.append(" " if child.type in {"softbreak", "hardbreak"} else child.content)
    return "".join(parts)


def _parse_inline(state: StateCore) -> None:
    """Parses inline marks only in paragraphs that may contain any: skipping the others halves the work."""
    for token in state.tokens:
        if token.type == "inline":
            token.children = []
            if token.content and _PLAIN.fullmatch(token.content):
                token.children.append(_text(token.content))
            else:
                state.md.inline.parse(token.content, state.md, state.env, token.children)


def _link_citations(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.children:
            _lead(token.children, state.env["home"])
            token.children = list(_link(token.children, state.env["sources"], state.env["cited"]))


def _lead(children: Sequence[Token], home: Home | None) -> None:
    """Turns links to pages of the site into paths, and marks other links as external."""
    for token in children:
        if token.type == "link_open":
            path = home and home.path_of(str(token.attrGet("href")))
            token.attrSet(*(("href", path) if path else ("rel", _EXTERNAL)))


def _link(children: Sequence[Token], sources: frozenset[int], cited: set[int]) -> Iterator[Token]:
    """Turns citations into links."""
    inside_link = False
    for token in children:
        if token.type == "link_open":
            inside_link = True
        elif token.type == "link_close":
            inside_link = False
        if token.type == "text" and not inside_link:
            yield from _cite(token.content, sources, cited)
        else:
            yield token


def _cite(text: str, sources: frozenset[int], cited: set[int]) -> Iterator[Token]:
    end = 0
    for match in _CITATION.finditer(text):
        number = int(match[1])
        if number not in sources:
            continue
        # The space before the citation goes: a reference mark follows its sentence directly, also at the end of a line.
        yield _text(text[end : match.start()])
        yield from _citation(number, first=number not in cited)
        cited.add(number)
        end = match.end()
    yield _text(text[end:])


def _citation(number: int, *, first: bool) -> tuple[Token, Token, Token]:
    attributes: dict[str, Any] = {
        "class": "citation",
        "href": f"#source-{number}",
        "aria-label": f"Source {number}",
    }
    if first:
        attributes["id"] = f"cite-{number}"
    return Token("link_open", "a", 1, attrs=attributes), _text(f"[{number}]"), Token("link_close", "a", -1)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


_PARSER = _parser()
