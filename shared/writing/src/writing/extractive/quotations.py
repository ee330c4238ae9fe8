"""An article of short quotations, from sources that may not be printed by the page. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from documents.blocks import Paragraph
from documents.source_minimum import MIN_SHOWN_WORDS
from documents.words import is_definition, stems_of, telling_stems
from writing.article import Article, ArticleSource
from writing.body import escape
from writing.extractive.descriptions import description
from writing.extractive.languages import is_foreign
from writing.extractive.links import resolver
from writing.extractive.markdown import MarkdownWriter
from writing.extractive.mending import beginning_of
from writing.extractive.references import is_dependent
from writing.extractive.sentences import spans
from writing.extractive.times import is_outdated
from writing.extractive.titles import article_title, comparable, tidy
from writing.extractive.units import UnitReader
from writing.quality.likeness import count_independent
from writing.writer import InsufficientSourcesError

MAX_QUOTED: Final = 90
"""Words of one source."""
MIN_QUOTED: Final = 12
MIN_SHARE: Final = 0.6
"""The least share of the keyword's words in a quotation."""


@dataclass(frozen=True, slots=True)
class _Quotation:
    source: ArticleSource
    paragraph: Paragraph
    worth: float

    @property
    def words(self) -> int:
        return len(self.paragraph.text.split())


def quote_sources(
    keyword: str,
    sources: Sequence[ArticleSource],
    *,
    label: str,
    slug: str,
    language: str,
    today: date,
    needed: int,
) -> Article:
    """Returns an article with one short quotation of each source, the definition first.

    Raises:
        InsufficientSourcesError: fewer than `needed` independent sources say something on the keyword.
    """
    stems = telling_stems(keyword)
    found = [each for source in sources if (each := _best(source, stems, language, today)) is not None]
    found.sort(key=lambda each: (-each.worth, each.source.n))
    quoted = list(_of_other_titles(found))
    words = sum(each.words for each in quoted)
    count = count_independent([each.source for each in quoted])
    if count < needed or words < MIN_SHOWN_WORDS:
        raise InsufficientSourcesError(
            f"Of {len(sources)} sources on “{keyword}”, {count} independent {'one' if count == 1 else 'ones'} can be quoted, with"
            f" {words} words; an article of other people's pages needs {needed} with {MIN_SHOWN_WORDS} words, since each may only be"
            " quoted briefly. A page of the brand's own on it is enough (`brandctl documents add FILE --brand BRAND --own`,"
            " `brandctl sources set BRAND --own HOST`), and a writer that uses a model may use all of them."
        )
    return Article(
        title=article_title(keyword, keyword, is_entry=False),
        slug=slug,
        meta_description=description([quoted[0].paragraph]),
        body_markdown="\n\n".join(block for each in quoted for block in _markdown(each)) + "\n",
        word_count=words,
        key_points=tuple(each.paragraph.text for each in quoted if each.words <= MAX_QUOTED // 2)[:5],
        cited=tuple(sorted(each.source.n for each in quoted)),
        label=label,
    )


def _of_other_titles(found: Sequence[_Quotation]) -> Iterator[_Quotation]:
    """Yields those with different titles, which become headings."""
    taken: set[str] = set()
    for each in found:
        if (title := comparable(tidy(each.source.title))) and title not in taken:
            taken.add(title)
            yield each


def _markdown(quotation: _Quotation) -> Iterator[str]:
    yield f"## {escape(tidy(quotation.source.title))}"
    writer = MarkdownWriter(quotation.source.n, lambda _: None)
    yield from (f"> {line}" for line in writer.blocks([Paragraph(quotation.paragraph.text)]))


def _best(source: ArticleSource, stems: Sequence[str], language: str, today: date) -> _Quotation | None:
    assert source.section is not None
    resolve = resolver(source)
    reader = UnitReader(
        lambda sentence: is_outdated(sentence, source.published_on, today),
        lambda target: resolve(target) is not None,
    )
    best: _Quotation | None = None
    wanted = frozenset(stems)
    for above, section in source.section.walk():
        heading = frozenset(each for title in (*above, section.title) for each in stems_of(title))
        for unit in reader.read(section, heading):
            first = unit.blocks[0]
            if len(unit.blocks) > 1 or not isinstance(first, Paragraph) or is_dependent(first.text):
                continue
            told = _beginning(first)
            share = len(wanted.intersection(stems_of(told.text))) / max(1, len(wanted))
            if share < MIN_SHARE or len(told.text.split()) < MIN_QUOTED or is_foreign(told.text, language):
                continue
            worth = share + is_definition(stems, told.text) + 0.3 * (wanted <= heading)
            if best is None or worth > best.worth:
                best = _Quotation(source, told, worth)
    return best


def _beginning(paragraph: Paragraph) -> Paragraph:
    """Returns the first whole sentences, up to ninety words; empty if the first one is longer."""
    ends = [end for _, end in spans(paragraph.text)]
    return beginning_of(paragraph, sum(len(paragraph.text[:end].split()) <= MAX_QUOTED for end in ends))
