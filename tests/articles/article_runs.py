"""Writes an article for each keyword as `python -m writing --sources FOLDER` does, from documents that are read once."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from reading.folder import licence
from tests.articles.keyword_draw import MIN_SECTION_WORDS, DrawnKeyword
from tests.articles.quotation_check import PageText, ShownPart, missing_parts, missing_quotations, shown_parts
from tests.articles.raw_pages import read_page
from writing.article import Article, ArticleSource
from writing.extractive.writer import ExtractiveWriter
from writing.folder_sources import DocumentIndex, read_documents
from writing.quality.likeness import containment
from writing.quality.measures import NEAR_DUPLICATE
from writing.writer import InsufficientSourcesError

OFF_TOPIC: Final = frozenset({"own words", "foreign"})


@dataclass(frozen=True)
class ArticleRun:
    """The result of one keyword: an article with the sources it cites, or the reason for its absence."""

    drawn: DrawnKeyword
    article: Article | None
    sources: tuple[ArticleSource, ...]
    refusal: str
    cpu_ms: float
    not_quoted: tuple[str, ...] = ()
    """Parts of the article that its pages do not have."""
    same_as: str = ""
    """The keyword whose article says the same; a brand would get that one only."""

    @property
    def is_off_topic(self) -> bool:
        return self.drawn.kind in OFF_TOPIC

    @property
    def counts(self) -> bool:
        """Whether the documentation says enough for an article."""
        return not self.is_off_topic and self.drawn.words >= MIN_SECTION_WORDS


@dataclass(frozen=True)
class DocumentationRun:
    """All keywords of a documentation."""

    name: str
    runs: tuple[ArticleRun, ...]
    skipped: tuple[str, ...]
    """Files that could not be read, each with the reason."""

    @property
    def counted(self) -> list[ArticleRun]:
        return [run for run in self.runs if run.counts]

    @property
    def articles(self) -> list[ArticleRun]:
        """Those on what the documentation treats."""
        return [run for run in self.runs if run.article and not run.is_off_topic]

    @property
    def off_topic_articles(self) -> list[ArticleRun]:
        return [run for run in self.runs if run.article and run.is_off_topic]


async def write_articles(name: str, folder: Path, keywords: Iterable[DrawnKeyword]) -> DocumentationRun:
    """Reads the folder, and writes or is refused an article for each keyword."""
    skipped: list[str] = []
    documents = await read_documents(folder, on_skipped=lambda path, why: skipped.append(f"{path}: {why}"))
    index, licensed, texts = DocumentIndex(documents), licence(folder), PageTexts(folder)
    runs = [await _write(drawn, index, licensed, texts) for drawn in keywords]
    return DocumentationRun(name, tuple(_with_repeats(runs)), tuple(skipped))


def _with_repeats(runs: Iterable[ArticleRun]) -> Iterator[ArticleRun]:
    """Yields the runs, marking articles that repeat an earlier one as the orchestrator finds them."""
    earlier: list[tuple[str, Article]] = []
    for run in runs:
        if run.article is None:
            yield run
            continue
        body = run.article.body_markdown
        same_as = next(
            (keyword for keyword, each in earlier if containment(each.body_markdown, body) >= NEAR_DUPLICATE),
            "",
        )
        if not same_as:
            earlier.append((run.drawn.keyword, run.article))
        yield replace(run, same_as=same_as)


class PageTexts:
    """The text of each page, read when an article cites it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, PageText] = {}

    def of(self, path: str) -> PageText:
        if path not in self._texts:
            page = read_page(path, (self._folder / path).read_bytes())
            self._texts[path] = PageText.of(f"{page.full_title}\n\n{page.text}")
        return self._texts[path]

    def cited_by(self, sources: Iterable[ArticleSource]) -> dict[int, PageText]:
        return {source.n: self.of(source.path) for source in sources if source.path}


async def _write(
    drawn: DrawnKeyword, index: DocumentIndex, licensed: str | None, texts: PageTexts
) -> ArticleRun:
    started = time.process_time()
    try:
        sources = index.find_sources(drawn.keyword, licence=licensed)
        article = await ExtractiveWriter(min_sources=1).write(
            keyword=drawn.keyword, sources=sources, brand_name="", language="en"
        )
    except InsufficientSourcesError as error:
        return ArticleRun(drawn, None, (), str(error), _milliseconds(started))
    cost = _milliseconds(started)
    cited = tuple(source for source in sources if source.n in article.cited)
    pages = texts.cited_by(cited)
    missing = missing_quotations(article.body_markdown, pages)
    told = told_by_description(article)
    missing += missing_parts(told, pages)
    return ArticleRun(drawn, article, cited, "", cost, tuple(missing))


def told_by_description(article: Article) -> list[ShownPart]:
    """Returns what the pages have to have of a description. Of an entry, its name stands before its explanation."""
    text = article.meta_description
    first = next(iter(shown_parts(article.body_markdown)), None)
    names = [article.title, first.text] if first is not None and first.kind == "term" else [article.title]
    name, _, explanation = text.partition(": ")
    if whole := next((each for each in names if text.startswith(f"{each}: ")), ""):
        text = text.removeprefix(f"{whole}: ")
    elif explanation and any(each.startswith(name) for each in names):
        text = explanation
    return [ShownPart("description", text.removesuffix("…").rstrip(" .,;:"), ())]


def _milliseconds(started: float) -> float:
    return round(1000 * (time.process_time() - started), 3)
