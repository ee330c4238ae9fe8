"""Titles, headings, index entries and text of pages, by a simple reading of the raw HTML that shares nothing with `reading`."""

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import lxml.html
from markdown_it import MarkdownIt

from tests.articles.raw_text import (
    HEADINGS,
    TextRun,
    count_runs,
    count_words,
    definition_words,
    parts_of,
    visible_text,
)

_MAIN: Final = "//main | //*[@role='main']"
_NUMBERING: Final = re.compile(
    r"^(?:(?:chapter|appendix|part|section)\s+(?:\d+|[A-Z]|[IVXL]+)[.:]?\s+"
    r"|\d+(?:\.\d+)+\.?\s+|\d+[.)]\s+|\d+\s+[-\u2013\u2014]\s+|\d+\s+(?=[A-Z])|[A-Z](?:\.\d+)+\.?\s+|[A-Z]\.\s+)",
    re.IGNORECASE,
)
_MANUAL_SECTION: Final = re.compile(r"\s*\(\d[a-z]?\)$")
_SEPARATOR: Final = re.compile(r"\s+[\u2014\u2013|·»:-]+\s+|:\s+|\s+\(")
_SITE_SHARE: Final = 0.3
_SITE_PAGES: Final = 3
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_RESTRUCTURED: Final = re.compile(r":\w+:(?=`)|`+_*|\*\*")
"""Marks of reStructuredText, which many files that are named .txt are."""
_INDEX_NAME: Final = re.compile(r"index", re.IGNORECASE)
_INDEX_LINKS: Final = 0.5
_MIN_ENTRIES: Final = 10


@dataclass(frozen=True, slots=True)
class RawHeading:
    """A heading below a page's title. `path` has the page's title and the headings above."""

    text: str
    path: tuple[str, ...]
    words: int


@dataclass(frozen=True, slots=True)
class RawEntry:
    """An entry of an index, with the words of the section or definition that it leads to."""

    term: str
    words: int


@dataclass(frozen=True)
class RawPage:
    """A page as its bytes have it. `full_title` is the browser's title."""

    path: str
    full_title: str
    root: lxml.html.HtmlElement = field(repr=False)
    is_redirect: bool = False

    @property
    def main(self) -> lxml.html.HtmlElement:
        """The part that the page marks as its main one, else all of it."""
        main = self.root.xpath(_MAIN)
        return main[0] if main else self.root

    @cached_property
    def parts(self) -> tuple[lxml.html.HtmlElement | TextRun, ...]:
        """Headings and runs of words in reading order, without navigation."""
        return tuple(parts_of(self.main))

    @cached_property
    def words(self) -> int:
        return count_runs(part for part in self.parts if isinstance(part, TextRun))

    @cached_property
    def text(self) -> str:
        """All text that the body shows, navigation too, marks of footnotes not; a blank line where a block begins or ends."""
        return "".join(visible_text(self.root))

    def heading_words(self) -> Iterator[tuple[lxml.html.HtmlElement, int]]:
        """Yields each heading with the words up to the next of its level or above."""
        for at, part in enumerate(self.parts):
            if isinstance(part, TextRun):
                continue
            runs: list[TextRun] = []
            for later in self.parts[at + 1 :]:
                if isinstance(later, TextRun):
                    runs.append(later)
                elif HEADINGS[later.tag] <= HEADINGS[part.tag]:
                    break
            yield part, count_runs(runs)

    @cached_property
    def elements(self) -> dict[lxml.html.HtmlElement, int]:
        """All elements in reading order, with their numbers."""
        return {element: at for at, element in enumerate(self.root.iter())}

    def words_at(self, anchor: str) -> int:
        """Counts the words of the definition or section that contains an anchor, or directly follows it."""
        found = self.root.xpath("//*[@id=$anchor or @name=$anchor]", anchor=anchor)
        if not found:
            return self.words
        named = self._named_by(found[0])
        for element in (found[0], *found[0].iterancestors(), named):
            if element is not None and element.tag == "dt":
                return definition_words(element)
        words = self.words
        for heading, count in self.heading_words():
            if heading is named:
                return count
            if self.elements[heading] > self.elements[found[0]] and found[0] not in heading.iter():
                return words
            words = count
        return words

    def _named_by(self, anchor: lxml.html.HtmlElement) -> lxml.html.HtmlElement | None:
        """Returns the heading or term that an anchor stands directly before, without text between the two."""
        passed: list[lxml.html.HtmlElement] = []
        for element in list(self.elements)[self.elements[anchor] :]:
            if not isinstance(element.tag, str):
                continue
            if element.tag == "dt" or element.tag in HEADINGS:
                around = set(element.iterancestors())
                tails = [each.tail or "" for each in passed if each not in around]
                return None if any(tail.strip() for tail in tails) else element
            if (element.text or "").strip():
                return None
            passed.append(element)
        return None


@dataclass(frozen=True)
class RawDocumentation:
    """The pages of a folder."""

    pages: Mapping[str, RawPage]

    @cached_property
    def site_names(self) -> tuple[str, ...]:
        return find_site_names([page.full_title for page in self.pages.values()])

    def title(self, page: RawPage) -> str:
        return clean_title(page.full_title, self.site_names)

    @cached_property
    def titles(self) -> tuple[tuple[str, RawPage], ...]:
        return tuple((title, page) for page in self.pages.values() if (title := self.title(page)))

    @cached_property
    def headings(self) -> tuple[RawHeading, ...]:
        return tuple(heading for page in self.pages.values() for heading in _headings(page, self.title(page)))

    @cached_property
    def entries(self) -> tuple[RawEntry, ...]:
        return tuple(entry for page in self.pages.values() for entry in _entries(page, self.pages))


def read_folder(folder: Path) -> RawDocumentation:
    """Reads the HTML, Markdown and text files of a folder, without files that only lead on to another page."""
    files = sorted(
        file for file in folder.rglob("*") if file.suffix in {".html", ".htm", ".xhtml", ".md", ".txt"}
    )
    pages = [
        read_page(str(file.relative_to(folder)), file.read_bytes())
        for file in files
        # Folders such as _static hold what the maker ships with every site.
        if not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)
    ]
    return RawDocumentation({page.path: page for page in pages if not page.is_redirect})


def read_page(path: str, content: bytes) -> RawPage:
    text = _decoded(content)
    if path.endswith(".md"):
        front = _FRONT_MATTER.match(text)
        text = MarkdownIt("commonmark").enable("table").render(_FRONT_MATTER.sub("", text))
        title = front and re.search(r"^title:\s*(.+)$", front[0], re.MULTILINE)
        root = lxml.html.document_fromstring(f"<body>{text}</body>")
        heading = str(root.xpath("string(//h1)"))
        return RawPage(path, title[1] if title else heading, root)
    if path.endswith(".txt"):
        root = lxml.html.document_fromstring("<body><p></p></body>")
        next(root.iter("p")).text = _RESTRUCTURED.sub("", text)
        return RawPage(path, text.strip().partition("\n")[0].strip("# ="), root)
    root = lxml.html.document_fromstring(
        content, parser=lxml.html.HTMLParser(encoding=_encoding(content), huge_tree=True)
    )
    title_text = " ".join((root.findtext(".//title") or "").split())
    refresh = root.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh') = 'refresh']")
    body = root.find(".//body")
    return RawPage(path, title_text, root if body is None else body, bool(refresh))


def find_site_names(titles: Sequence[str]) -> tuple[str, ...]:
    """Returns what stands before or after a separator in many titles, the longest first."""
    counts: Counter[str] = Counter()
    for title in titles:
        places = list(_SEPARATOR.finditer(title))
        counts.update(
            {title[: place.start()] for place in places} | {title[place.end() :] for place in places}
        )
    least = max(_SITE_PAGES, _SITE_SHARE * len(titles))
    return tuple(sorted((name for name, n in counts.items() if n >= least), key=len, reverse=True))


def clean_title(title: str, site_names: Iterable[str] = ()) -> str:
    """Cuts the site's name, numbering and signs, as a person would type the title."""
    title = " ".join(title.replace("¶", " ").split())
    for name in site_names:
        for place in _SEPARATOR.finditer(title):
            if title[: place.start()] == name:
                title = title[place.end() :]
                break
            if title[place.end() :] == name:
                title = title[: place.start()]
                break
    cut = _MANUAL_SECTION.sub("", _NUMBERING.sub("", title.strip()))
    return cut.strip(" .:;,\u2013\u2014-#§")


def _encoding(content: bytes) -> str:
    try:
        content.decode()
    except UnicodeDecodeError:
        # The name that the parser knows, too.
        return "iso-8859-1"
    return "utf-8"


def _decoded(content: bytes) -> str:
    return unicodedata.normalize("NFC", content.decode(_encoding(content)))


def _headings(page: RawPage, page_title: str) -> Iterator[RawHeading]:
    above: list[tuple[int, str]] = []
    for element, words in page.heading_words():
        level = HEADINGS[element.tag]
        text = clean_title(element.text_content())
        above = [each for each in above if each[0] < level]
        if text:
            yield RawHeading(text, (page_title, *(title for _, title in above)), words)
            above.append((level, text))


def _entries(page: RawPage, pages: Mapping[str, RawPage]) -> Iterator[RawEntry]:
    if not _is_index(page):
        return
    seen: set[str] = set()
    for link in page.root.iter("a"):
        target, _, anchor = link.get("href", "").partition("#")
        term = _entry_term(link.text_content())
        to = (
            posixpath.normpath(posixpath.join(posixpath.dirname(page.path), unquote(target)))
            if target
            else ""
        )
        if anchor and term and term not in seen and to in pages and to != page.path:
            seen.add(term)
            yield RawEntry(term, pages[to].words_at(unquote(anchor)))


def _is_index(page: RawPage) -> bool:
    """Whether a page is a book's index: it is named so, and consists of links to places of other pages."""
    name = page.path.rpartition("/")[2].partition(".")[0]
    if name == "index" or not _INDEX_NAME.search(f"{name} {page.full_title}"):
        # A folder's index.html is its front page.
        return False
    links = [link for link in page.root.iter("a") if "#" in link.get("href", "")[1:]]
    words = sum(count_words(link.text_content()) for link in links)
    return len(links) >= _MIN_ENTRIES and words >= _INDEX_LINKS * page.words / 2


def _entry_term(text: str) -> str:
    """Returns an entry as a person would type it: "variables, global" becomes "global variables"."""
    term = re.sub(r"\s*\([^()]*\)", "", " ".join(text.split())).strip(" .:;,")
    head, comma, tail = term.partition(", ")
    if not comma or ", " in tail:
        return term
    return tail if head in tail.split() else f"{tail} {head}"
