"""Composes an article from one page, or one section of it: its own text in its own order, each paragraph cited. Pure.

It needs no model and no network, and cannot invent: everything it prints is from a source. The same input gives the
same article. Sources that may only be quoted briefly give an article of short quotations instead.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby, product
from operator import itemgetter

from slugify import slugify

from documents.blocks import Definitions, text_of
from documents.sections import ENTRY_LEVEL, Section
from documents.source_minimum import MIN_SHOWN_WORDS, sources_needed
from documents.words import stems_of, telling_stems
from writing.article import Article, ArticleSource, BrandWishes
from writing.body import escape
from writing.extractive.descriptions import description_of, entry_description
from writing.extractive.endings import ended
from writing.extractive.languages import is_foreign
from writing.extractive.links import resolver
from writing.extractive.markdown import MarkdownWriter
from writing.extractive.passages import with_section
from writing.extractive.quotations import quote_sources
from writing.extractive.references import companies_in, is_dependent
from writing.extractive.sentences import split
from writing.extractive.spine import WHOLE_WORDS, NoSpineError, Spine, SpineReader, TooLongError
from writing.extractive.times import is_outdated
from writing.extractive.titles import (
    article_title,
    comparable,
    continues,
    heading_of,
    is_change,
    tidy,
    work_name,
)
from writing.extractive.units import Part, UnitReader, paragraphs_of, shown_words
from writing.quality.measures import QUOTED, measure, problems
from writing.writer import InsufficientSourcesError

EXTRACTIVE_LABEL = (
    "How this was made: a digest that a program put together from paragraphs of the sources below, word for word."
    " No person has reviewed it."
)
"""A note for readers."""
MIN_ABOUT = 0.6
"""The least aboutness of a spine."""
ALSO_ABOUT = 0.72
"""The least aboutness of another section that fills up a short article."""
MIN_ADDED = 30
"""The fewest words of such a section, where its end is dropped."""
MAX_TRIES = 6
MAX_BEHIND = 0.25
"""Where a page is named like the keyword, one with so much less aboutness has another subject."""
MAX_SEE_ALSO = 5
MAX_LEFT_OUT = 5
MAX_LEFT_OUT_SHARE = 0.3
"""An article that leaves out more of its section breaks off."""
MIN_KEY_POINTS = 3
MAX_KEY_POINTS = 5
MAX_KEY_POINT = 240
MAX_SLUG = 80
_COURSE = re.compile(
    r"\b(?:step[- ]by[- ]step|steps|quick[- ]?start|getting started|tutorial)\b", re.IGNORECASE
)
_STEP = re.compile(r"(?:step )?\d{1,2}\b(?!\.\d)", re.IGNORECASE)


def compose(
    *, keyword: str, sources: Sequence[ArticleSource], language: str, today: date, min_sources: int
) -> Article:
    """Writes the article. `language` is a BCP 47 tag: text in another language is not quoted. `today` dates the sources.

    Raises:
        InsufficientSourcesError: no page or section about the keyword gives an article, nor do short quotations.
    """
    keyword = " ".join(keyword.replace("\0", "").split())
    stems = telling_stems(keyword)
    # Research has ranked the sections that it found; passages alone are ranked by their titles.
    is_ranked = {each.n for each in sources if each.section is not None}
    sources = [with_section(each, stems) for each in sources]
    ranked = sorted(
        (each for each in sources if each.quotable and each.about >= MIN_ABOUT),
        key=lambda each: (each.n not in is_ranked, 0.0 if each.n in is_ranked else -each.about, each.n),
    )
    ranked.sort(key=_is_of_changes)
    ranked = _numbered_by_document(ranked)
    refusals: list[str] = []
    is_too_long = False
    best = max((each.about for each in ranked), default=0.0)
    tries = [each for each in ranked if each.about >= best - MAX_BEHIND][:MAX_TRIES]
    for _, alike in groupby(tries, key=lambda each: (each.about, _is_of_changes(each))):
        if is_too_long:
            break
        # What stands alone of a source; where none has enough of it, a source as it stands.
        for source, is_as_it_stands in sorted(product(alike, (False, True)), key=itemgetter(1)):
            try:
                return _SpineArticle(keyword, stems, source, ranked, language, today, is_as_it_stands).write()
            except NoSpineError as error:
                is_too_long = is_too_long or isinstance(error, TooLongError)
                if is_as_it_stands:
                    refusals.append(f"{_name(source)} {_too_short(source) or error}")
    if any(not each.quotable for each in sources):
        needed = sources_needed(quotable=False, min_sources=min_sources)
        return quote_sources(
            keyword,
            sources,
            label=EXTRACTIVE_LABEL,
            slug=_slug(keyword),
            language=language,
            today=today,
            needed=needed,
        )
    raise InsufficientSourcesError(_refusal(keyword, sources, refusals))


def _is_of_changes(source: ArticleSource) -> bool:
    """Whether a source is a part of a list of changes: news of an old version, which comes behind what is about the subject."""
    return any(map(is_change, source.titles_above))


def _numbered_by_document(sources: Sequence[ArticleSource]) -> list[ArticleSource]:
    """Gives sections of one document one number: readers see one source."""
    first: dict[str, int] = {}
    documents = (each.path or (each.url or f"{each.n}").partition("#")[0] for each in sources)
    return [
        replace(each, n=first.setdefault(document, each.n))
        for document, each in zip(documents, sources, strict=True)
    ]


def _refusal(keyword: str, sources: Sequence[ArticleSource], refusals: Sequence[str]) -> str:
    if refusals:
        return (
            f"The page on “{keyword}” gives no article: {refusals[0]}. Write more on it there, add a page on it to what"
            " research reads, or choose another keyword."
        )
    titles = ", ".join(dict.fromkeys(_name(each) for each in sources[:3]))
    return (
        f"No page or section is about “{keyword}”"
        + (f"; its words only occur in {titles}" if titles else "")
        + ". Add a page on it to what research reads, or choose a keyword that is the title of a page or section."
    )


def _name(source: ArticleSource) -> str:
    title = source.section.title if source.section else source.title
    page = next(iter(source.titles_above), title)
    place = source.path or source.url
    on_page = f" on the page “{page}”" if page != title else ""
    return f"“{title}”{on_page}" + (f" ({place})" if place else "")


def _too_short(source: ArticleSource) -> str | None:
    words = source.section.words if source.section else 0
    return (
        f"has only {words} words, and an article needs {MIN_SHOWN_WORDS}" if words < MIN_SHOWN_WORDS else None
    )


class _SpineArticle:
    """The article that has one source for its spine."""

    def __init__(
        self,
        keyword: str,
        stems: Sequence[str],
        source: ArticleSource,
        sources: Sequence[ArticleSource],
        language: str,
        today: date,
        is_as_it_stands: bool,
    ) -> None:
        assert source.section is not None
        self._keyword = keyword
        self._stems = stems
        self._source = source
        self._section = source.section
        self._others = [each for each in sources if each is not source]
        self._language = language
        self._today = today
        self._is_as_it_stands = is_as_it_stands
        self._is_entry = self._section.level >= ENTRY_LEVEL
        self._strangers = _strangers(keyword, sources)

    def write(self) -> Article:
        """Returns the article.

        Raises:
            NoSpineError: its text gives none.
        """
        if is_change(self._section.title):
            raise NoSpineError("is a line of a list of changes, and no subject")
        if self._source.titles_above and continues(tidy(self._section.title)):
            raise NoSpineError("continues another section of its page, without which it is not understood")
        if is_foreign(_sample(self._source), self._language):
            raise NoSpineError(f"is not in the brand's language ({self._language})")
        spine = self._spine(self._source)
        if (missing := self._missing_step(spine)) is not None:
            raise TooLongError(f"is too long for an article, which would stop before “{missing}”")
        if sum(each.words for each in spine.left_out) > MAX_LEFT_OUT_SHARE * self._section.words:
            raise TooLongError(
                f"is too long for an article, which would stop before “{tidy(spine.left_out[0].title)}”"
            )
        parts = [(self._source, part) for part in spine.parts]
        if spine.words < MIN_SHOWN_WORDS:
            parts += self._added(spine)
        words = shown_words([block for _, part in parts for block in part.blocks])
        if words < MIN_SHOWN_WORDS:
            raise NoSpineError(
                f"has only {words} words that can be quoted, and an article needs {MIN_SHOWN_WORDS}"
            )
        body = [*self._markdown(parts), *self._closing(spine), *self._see_also(parts)]
        cited = {source.n for source, _ in parts}
        article = Article(
            title=self._title(),
            slug=_slug(self._keyword),
            meta_description=self._description(spine),
            body_markdown="\n\n".join(body) + "\n",
            word_count=words,
            key_points=_key_points([part for _, part in parts]),
            cited=tuple(sorted(cited | self._seen_also(parts))),
            section=tidy(self._section.title) if self._source.titles_above and len(cited) == 1 else None,
            label=EXTRACTIVE_LABEL,
        )
        self._check(article)
        return article

    def _spine(self, source: ArticleSource) -> Spine:
        assert source.section is not None
        resolve = resolver(source)
        is_whole = source.section.words <= WHOLE_WORDS
        # On a page without sections, "the next section" is another page.
        has_neighbours = any(each.level < ENTRY_LEVEL for each in source.section.children)
        shown = _places(source) if is_whole else frozenset()
        units = UnitReader(
            is_outdated=lambda sentence: is_outdated(sentence, source.published_on, self._today),
            resolves=lambda target: resolve(target) is not None or target in shown,
            is_whole=is_whole and has_neighbours,
            strangers=frozenset() if self._is_as_it_stands else self._strangers,
            is_as_it_stands=self._is_as_it_stands,
            has_address=lambda target: resolve(target) is not None,
        )
        reader = SpineReader(source.section, source.titles_above, self._stems, source.about, units)
        return reader.read_as_it_stands() if self._is_as_it_stands else reader.read()

    def _missing_step(self, spine: Spine) -> str | None:
        """Returns the title of a section that is left out and does what the keyword says, or is a step of it."""
        is_course = _COURSE.search(f"{self._keyword} {self._section.title}") is not None
        if steps := [each.title for each in spine.left_out if is_course or _STEP.match(each.title)]:
            return steps[0]
        action, *_ = self._keyword.split() or [""]
        stems = frozenset(stems_of(action)) if action.casefold().endswith("ing") else frozenset()
        if any(not stems.isdisjoint(stems_of(part.heading)) for part in spine.parts if part.heading):
            return None
        titles = (section.title for section in spine.left_out)
        return next((title for title in titles if not stems.isdisjoint(stems_of(title))), None)

    def _added(self, spine: Spine) -> Iterator[tuple[ArticleSource, Part]]:
        """Yields the openings of other sections on the keyword, while the article is too short."""
        words = spine.words
        taken = {comparable(part.heading or self._section.title) for part in spine.parts}
        said = " ".join(unit.text for part in spine.parts for unit in part.units)
        for other in self._others:
            if words >= MIN_SHOWN_WORDS or other.about < ALSO_ABOUT or other.section is None:
                continue
            if other.n == self._source.n and other.section.title in self._source.titles_above:
                # Its own page: an introduction behind the section would stand upside down.
                continue
            heading = heading_of(other.section.title, is_entry=other.section.level >= ENTRY_LEVEL)
            try:
                (opening,) = ended(self._spine(other).parts[:1], MIN_ADDED)
            except NoSpineError:
                continue
            if comparable(heading) in taken:
                heading = tidy(other.titles_above[0]) if other.titles_above else heading
            if opening.words < MIN_ADDED or comparable(heading) in taken or opening.units[0].first in said:
                continue
            taken.add(comparable(heading))
            words += opening.words
            yield other, Part(heading, opening.units)

    def _markdown(self, parts: Sequence[tuple[ArticleSource, Part]]) -> Iterator[str]:
        levels = _levels([part for _, part in parts])
        for at, (source, part) in enumerate(parts):
            writer = MarkdownWriter(source.n, resolver(source))
            blocks = part.blocks
            if part.heading is not None and (blocks or levels[at + 1 : at + 2] > levels[at : at + 1]):
                yield f"{'#' * levels[at]} {escape(part.heading)}"
            first = next(paragraphs_of(blocks[:1]), None)
            if part.term and first is not None:
                yield writer.titled(part.term, first, " – ")  # noqa: RUF001
                blocks = blocks[1:]
            yield from writer.blocks(blocks)

    def _closing(self, spine: Spine) -> Iterator[str]:
        """Yields where to read on, if the source continues; the emphasis marks the sentence as ours."""
        if not spine.left_out or not self._is_english:
            return
        resolve = resolver(self._source)
        named = [self._named(section, resolve) for section in spine.left_out[:MAX_LEFT_OUT]]
        more = len(spine.left_out) - len(named)
        *first, last = [*named, *([f"{more} more"] if more else [])]
        listed = f"{', '.join(first)} and {last}" if first else last
        yield f"*There is more in the source: {listed}.* [{self._source.n}]"

    def _named(self, section: Section, resolve: Callable[[str], str | None]) -> str:
        title = f"“{escape(heading_of(section.title, is_entry=section.level >= ENTRY_LEVEL))}”"
        address = resolve(f"{self._source.path}#{section.anchor}") if section.anchor else None
        return f"[{title}]({address})" if address else title

    @property
    def _is_english(self) -> bool:
        return self._language.casefold().startswith("en")

    def _see_also(self, parts: Sequence[tuple[ArticleSource, Part]]) -> list[str]:
        if not self._is_english:
            return []
        items = {
            comparable(_heading(other)): f"- [{escape(_heading(other))}]({other.url}) [{other.n}]"
            for other in reversed(self._listed(parts))
        }
        return ["## See also", "\n".join(reversed(items.values()))] if items else []

    def _listed(self, parts: Sequence[tuple[ArticleSource, Part]]) -> list[ArticleSource]:
        """Returns the other sources that readers can go to and whose own titles have a word of the keyword."""
        taken = {comparable(part.heading or self._title()) for _, part in parts}
        shown = {source.n for source, _ in parts}
        by_address = {each.url: each for each in reversed(self._others) if each.url}
        return [
            each
            for each in self._others
            if each.n not in shown
            and each.url
            and by_address.get(each.url) is each
            and each.about >= MIN_ABOUT
            and comparable(_heading(each)) not in taken
            and telling_stems(_heading(each)) != tuple(self._stems)
            and not frozenset(self._stems).isdisjoint(stems_of(_heading(each)))
        ][:MAX_SEE_ALSO]

    def _seen_also(self, parts: Sequence[tuple[ArticleSource, Part]]) -> set[int]:
        return {each.n for each in self._listed(parts)} if self._is_english else set()

    @property
    def _subject(self) -> str:
        """The keyword, unless it is the title of a page that says too little for an article."""
        others = [each.section for each in self._others if each.section]
        titles = {each.title for each in others if each.words < MIN_SHOWN_WORDS}
        return self._section.title if self._keyword in titles - {self._section.title} else self._keyword

    def _title(self) -> str:
        above = self._source.titles_above
        entries = (each for _, each in self._section.walk() if each.level >= ENTRY_LEVEL)
        return article_title(
            self._subject,
            self._section.title,
            is_entry=self._is_entry,
            page=above[0] if above else "",
            names={name for each in entries for name in (each.title, *each.names)},
            work=work_name(_texts_by_document((self._source, *self._others))),
        )

    def _description(self, spine: Spine) -> str:
        parts = [part.blocks for part in spine.parts if part.units]
        if isinstance(parts[0][0], Definitions):
            entries = parts[0][0].entries
            parts[:1] = [tuple(paragraphs_of(entry.blocks))[:1] for entry in entries]
        opening = spine.parts[0]
        first = next(paragraphs_of(opening.blocks[:1]), None)
        if opening.term and first and (told := entry_description(tidy(opening.term), first)):
            return told
        return description_of(parts, self._stems, is_explained=bool(spine.parts[0].term))

    def _check(self, article: Article) -> None:
        """The digest keeps its own bounds.

        Raises:
            NoSpineError: a bound that is not kept.
        """
        measures = measure(
            article,
            # Of "\dot [caption]", the title has the name alone.
            keyword=tidy(self._subject),
            sources=len(article.cited),
            wishes=BrandWishes(min_sources=1),
            nearest=None,
            bounds=QUOTED,
        )
        for problem in problems(measures):
            raise NoSpineError(f"gives a text that misses a bound ({problem})")


def _places(source: ArticleSource) -> frozenset[str]:
    """Returns the targets of links that lead to a place within the source."""
    assert source.section is not None
    anchors = {each for _, section in source.section.walk() for each in (section.anchor, *section.anchors)}
    return frozenset(f"{source.path}#{anchor}" for anchor in anchors if anchor) | {source.path or ""}


def _strangers(keyword: str, sources: Sequence[ArticleSource]) -> frozenset[str]:
    """Returns the companies that the sources name, and that none of them, nor the keyword, has for its subject."""
    titles = " ".join((keyword, *(title for each in sources for title in (each.title, *each.titles_above))))
    sections = (section for each in sources if each.section for _, section in each.section.walk())
    texts = (text_of(block) for section in sections for block in section.blocks)
    return companies_in(texts) - frozenset(titles.split())


def _texts_by_document(sources: Sequence[ArticleSource]) -> list[str]:
    texts: dict[int, list[str]] = {}
    for each in sources:
        sections = each.section.walk() if each.section else ()
        texts.setdefault(each.n, []).extend(text_of(block) for _, part in sections for block in part.blocks)
    return ["\n".join(each) for each in texts.values()]


def _levels(parts: Sequence[Part]) -> list[int]:
    """Returns the level of each heading: one below that of the nearest above it that is higher, where none is skipped."""
    levels: list[int] = []
    above: list[int] = []
    for part in parts:
        while above and (part.heading is None or above[-1] >= part.level):
            above.pop()
        if part.heading is not None:
            above.append(part.level)
        levels.append(1 + len(above))
    return levels


def _heading(source: ArticleSource) -> str:
    assert source.section is not None
    return heading_of(source.section.title, is_entry=source.section.level >= ENTRY_LEVEL)


def _sample(source: ArticleSource) -> str:
    """Returns the beginning of a source's text, for recognizing its language."""
    assert source.section is not None
    texts: list[str] = []
    for _, section in source.section.walk():
        texts += [each.text for each in paragraphs_of(section.blocks)]
        if sum(map(len, texts)) > 2_000:  # noqa: PLR2004 - enough to tell a language
            break
    return " ".join(texts)


def _key_points(parts: Sequence[Part]) -> tuple[str, ...]:
    """Returns up to five sentences that make sense alone: the first of each part, then others in their order."""
    by_part = [
        [
            text
            for paragraph in paragraphs_of(part.blocks)
            for text in split(paragraph.text)
            if len(text) <= MAX_KEY_POINT
            and text.endswith(".")
            and not is_dependent(text)
            and len(text.split()) > 5  # noqa: PLR2004
        ]
        for part in parts
    ]
    first = [texts[0] for texts in by_part if texts]
    others = [text for texts in by_part for text in texts[1:]]
    wanted = max(MIN_KEY_POINTS, min(MAX_KEY_POINTS, len(first)))
    return tuple(dict.fromkeys([*first, *others]))[:wanted]


def _slug(keyword: str) -> str:
    slug = slugify(keyword, max_length=MAX_SLUG, word_boundary=True)
    # Emoji or punctuation leave an empty slug; the digest keeps the address stable.
    return slug or f"article-{hashlib.sha256(keyword.encode()).hexdigest()[:8]}"
