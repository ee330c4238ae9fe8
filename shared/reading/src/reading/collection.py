"""Common facts about the documents of a collection: hierarchy, words of the product, copies, indexes. Pure.

All functions take what an index keeps of each document, so that none needs all documents in memory.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from documents.sections import PAGE_LEVEL, IndexTerm, Section, TocLink
from documents.words import COMMON_STEMS, bare_title, telling_stems, words_of
from reading.ranking.aboutness import SectionHead, kind_of

PRODUCT_SHARE: Final = 0.12
"""The share of page titles from which a word names the product."""
TEXT_SHARE: Final = 0.85
"""The share of pages on which a word of their texts names the product."""
USES_SHARE: Final = 1 / 3
"""The least uses of such a word, as a share of those of the most used one."""
MAX_SMALL: Final = 60
"""In larger collections, the words of most texts are those of any manual."""
MIN_PRODUCT_TITLES: Final = 5
SITE_SHARE: Final = 0.08
"""The share of pages from which a heading names the site."""
MIN_SITE_PAGES: Final = 4
MAX_PARENTS: Final = 6
"""The most pages above a page."""
MAX_ABBREVIATIONS: Final = 500
_SUFFIX: Final = re.compile(r" \(| (?:[–—|·•»-]|::) ")  # noqa: RUF001 - dashes of titles
_BRACKETED: Final = re.compile(r"(?<= )\(([A-Z]{2,8})\)")
_LONGEST_SPELLED: Final = 160


def product_words(
    page_titles: Collection[str], page_stems: Collection[Collection[str]] = ()
) -> frozenset[str]:
    """Returns the stems that at least five and 12% of the page titles have, or 85% of the pages' texts and often.

    `page_stems` are all stems of each page's text. A shop for bicycles writes "Lights" above its page on bicycle lights;
    but where a page would have no name without such a word, as "Coffee grind size", it tells that page from the others.
    """
    titles = [{*telling_stems(title)} for title in page_titles]
    counts = Counter(each for title in titles for each in title)
    named = {
        each
        for each, count in counts.items()
        if count >= max(MIN_PRODUCT_TITLES, PRODUCT_SHARE * len(titles))
    }
    if len(page_stems) <= MAX_SMALL:
        pages = Counter(each for stems in page_stems for each in {*stems})
        uses = Counter(each for stems in page_stems for each in stems)
        least = max(MIN_PRODUCT_TITLES, TEXT_SHARE * len(page_stems))
        usual = {each for each, count in pages.items() if count >= least} - COMMON_STEMS
        most = max((uses[each] for each in named | usual), default=0)
        usual -= {each for title in titles if len(title) > 1 and title <= named | usual for each in title}
        named |= {each for each in usual if uses[each] >= USES_SHARE * most}
    return frozenset(named)


def site_names(headings: Iterable[Collection[str]]) -> frozenset[str]:
    """Returns the headings, in lower case, that stand on at least four and 8% of the pages; one collection per page."""
    pages = [{each.casefold() for each in page} for page in headings]
    counts = Counter(each for page in pages for each in page)
    return frozenset(each for each, count in counts.items() if count >= least_pages_of_site_name(len(pages)))


def least_pages_of_site_name(pages: int) -> float:
    """Returns how many of so many pages have a heading that names the site."""
    return max(MIN_SITE_PAGES, SITE_SHARE * pages)


def title_suffixes(page_titles: Collection[str]) -> tuple[str, ...]:
    """Returns the ends that at least four and 8% of the page titles share: " (GNU Octave (version 7.3.0))"; longest first."""
    counts = Counter(
        title[match.start() :] for title in page_titles for match in _SUFFIX.finditer(title) if match.start()
    )
    least = least_pages_of_site_name(len(page_titles))
    return tuple(sorted((each for each, count in counts.items() if count >= least), key=len, reverse=True))


def without_suffix(title: str, suffixes: Iterable[str]) -> str:
    """Returns a page's title without the name of its site, by `title_suffixes`."""
    return next((title.removesuffix(each) for each in suffixes if title.endswith(each)), title)


class ParentPages:
    """The page above each page: of the tables of contents that link a page, the shortest stands on its parent."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, path: str, links: Sequence[TocLink]) -> None:
        """Adds the tables of contents of a page."""
        pages = dict.fromkeys(link.target.partition("#")[0] for link in links)
        for page in pages:
            if page and page != path:
                self._found[page] = min(self._found.get(page, (len(pages), path)), (len(pages), path))

    @property
    def parents(self) -> dict[str, str]:
        return {page: parent for page, (_, parent) in self._found.items()}


def parents_of(tables_of_contents: Mapping[str, Sequence[TocLink]]) -> dict[str, str]:
    """Returns the page above each page; see `ParentPages`."""
    found = ParentPages()
    for path, links in tables_of_contents.items():
        found.add(path, links)
    return found.parents


def pages_above(path: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the paths of the pages above a page, the nearest first."""
    above: list[str] = []
    while (path := parents.get(path, "")) and path not in above and len(above) < MAX_PARENTS:
        above.append(path)
    return tuple(above)


def index_terms_of(terms: Iterable[IndexTerm]) -> dict[str, tuple[str, ...]]:
    """Returns the index entries that lead to each target: a path with its `#anchor`."""
    found: dict[str, dict[str, None]] = {}
    for each in terms:
        found.setdefault(each.target, {})[each.term] = None
    return {target: tuple(each) for target, each in found.items()}


def copies(texts: Mapping[str, str]) -> frozenset[str]:
    """Returns the paths of documents whose text another document has too; of each text, one path is left out.

    `texts` are fingerprints of `text_fingerprint`, or the texts themselves.
    """
    by_text: dict[str, list[str]] = {}
    for path, text in texts.items():
        by_text.setdefault(text, []).append(path)
    same = (path for paths in by_text.values() for path in sorted(paths, key=_awkwardness)[1:])
    return frozenset((*same, *(path for path in texts if _page_of_source(path) in texts)))


def _page_of_source(path: str) -> str | None:
    """Returns the page that Sphinx made of a source that it publishes as well."""
    root, folder, source = path.rpartition("_sources/")
    return f"{root}{source.split('.', 1)[0]}.html" if folder else None


def _awkwardness(path: str) -> tuple[bool, int, str]:
    return "_sources/" in path, len(path), path


def text_fingerprint(section: Section) -> str:
    """Returns a digest of the words of a page, the same for copies of other markup."""
    digest = hashlib.blake2b(digest_size=16)
    for _, each in section.walk():
        digest.update(" ".join(words_of(each.text)).encode())
    return digest.hexdigest()


def abbreviations_of(texts: Iterable[str]) -> dict[str, str]:
    """Returns the abbreviations that texts introduce, as "Virtual Private Network (VPN)" does, with their spelled form."""
    found: dict[str, str] = {}
    for text in texts:
        for match in _BRACKETED.finditer(text):
            size = len(match[1])
            spelled = text[max(0, match.start() - _LONGEST_SPELLED) : match.start()].split()[-size:]
            if len(spelled) == size and "".join(word[0] for word in spelled).upper() == match[1]:
                found.setdefault(match[1], " ".join(spelled))
        if len(found) >= MAX_ABBREVIATIONS:
            break
    return found


def heads_of(
    page: Section,
    *,
    path: str,
    parent_titles: tuple[str, ...] = (),
    index_terms: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[tuple[SectionHead, Section]]:
    """Yields each section of a page with its head, in reading order.

    Args:
        page: the page's root.
        path: of the document in its collection.
        parent_titles: the titles of the pages above it, the nearest first.
        index_terms: of `index_terms_of`.
    """
    for above, section in page.walk():
        anchors = filter(None, (section.anchor, *section.anchors))
        targets = [path] if section.level == PAGE_LEVEL else [f"{path}#{anchor}" for anchor in anchors]
        terms = dict.fromkeys(term for each in targets for term in (index_terms or {}).get(each, ()))
        yield (
            SectionHead(
                title=bare_title(section.title),
                kind=kind_of(section.level),
                words=section.words,
                names=section.names,
                index_terms=tuple(terms),
                titles_above=above,
                parent_titles=parent_titles,
            ),
            section,
        )
