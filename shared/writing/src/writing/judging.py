"""Measures a finished article, compares it with the brand's other articles and links it to them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias
from uuid import UUID

from documents.source_minimum import sources_needed
from writing.article import Article, ArticleSource, BrandWishes
from writing.body import Body, prose_of
from writing.computing import ComputeThread
from writing.linking import LinkableArticle, add_links
from writing.quality.likeness import Fingerprint, containment, count_independent, estimate, fingerprint
from writing.quality.measures import (
    QUOTED,
    WRITTEN,
    Measure,
    NearestArticle,
    likeness_measure,
    measure,
    problems,
)

CONFIRMED = 3
"""The number of nearest articles by fingerprint that are compared word by word."""
NEAR_ENOUGH = 0.4
"""The least estimated likeness for a comparison word by word; below it, no article is a near-duplicate."""


ReadBodies: TypeAlias = Callable[[Sequence[UUID]], Awaitable[Mapping[UUID, str]]]
"""Reads the Markdown of articles."""


@dataclass(frozen=True, slots=True)
class SiblingArticle:
    """The parts of an article that comparing and linking need."""

    content_id: UUID
    version: int
    keyword: str
    title: str
    published_url: str | None
    fingerprint: Collection[int]

    @property
    def address(self) -> str:
        """Its public address, or else its path in the API."""
        return self.published_url or f"/v1/content/{self.content_id}"


@dataclass(frozen=True, slots=True)
class JudgedArticle:
    """An article ready for storage, with its measures."""

    article: Article
    """The article with its links."""
    measures: tuple[Measure, ...]
    fingerprint: Fingerprint
    compared: frozenset[UUID]
    """Ids of the articles that it was compared with."""
    nearest: NearestArticle | None = None
    """The compared article that shares most with it."""

    @property
    def held_for(self) -> tuple[str, ...]:
        """The reasons why it needs a person's approval; empty if there are none."""
        return problems(self.measures)

    @property
    def standing_id(self) -> UUID | None:
        """The id of the published near-duplicate, if that is the only problem; else None."""
        if self.nearest is None or not self.nearest.is_published or len(self.held_for) != 1:
            return None
        return self.nearest.content_id if likeness_measure(self.nearest).problem is not None else None


async def judge_article(
    article: Article,
    sources: Sequence[ArticleSource],
    *,
    keyword: str,
    others: Sequence[SiblingArticle],
    read: ReadBodies,
    wishes: BrandWishes,
    computing: ComputeThread,
) -> JudgedArticle:
    """Measures the article, and links it to the published ones of the brand's `others`."""

    def judged(reading: _ParsedArticle) -> JudgedArticle:
        body, nearest = reading.body, reading.likeness.nearest
        cited = [each for each in sources if each.n in article.cited]
        needed = sources_needed(quotable=all(each.quotable for each in cited), min_sources=wishes.min_sources)
        figures = measure(
            article,
            keyword=keyword,
            sources=count_independent(cited),
            wishes=replace(wishes, min_sources=needed),
            nearest=nearest,
            bounds=QUOTED if article.draft is None else WRITTEN,
            asked=None if article.draft is None else wishes.words,
            body=body,
        )
        published = [
            LinkableArticle(each.keyword, each.title, each.published_url)
            for each in others
            if each.published_url
        ]
        markdown, links = add_links(body, keyword=keyword, published=published)
        return JudgedArticle(
            article=replace(article, body_markdown=markdown),
            measures=(*figures, Measure("links", links, f"{links} to other articles of the brand")),
            fingerprint=reading.fingerprint,
            compared=frozenset(each.content_id for each in others),
            nearest=nearest,
        )

    def begin() -> JudgedArticle | _ParsedArticle:
        reading = _parse(article, others)
        return reading if reading.likeness.close else judged(reading)

    def end(reading: _ParsedArticle, bodies: Mapping[UUID, str]) -> JudgedArticle:
        reading.likeness.confirm(bodies, reading.body.prose)
        return judged(reading)

    found = await computing.do(begin)
    if isinstance(found, JudgedArticle):
        return found
    bodies = await read(found.likeness.close)
    return await computing.do(partial(end, found, bodies))


async def measure_edited(
    article: Article,
    *,
    keyword: str,
    others: Sequence[SiblingArticle],
    read: ReadBodies,
    wishes: BrandWishes,
    before: Sequence[Measure],
) -> tuple[Measure, ...]:
    """Measures a text that a person edited; `before` are the earlier measures. Sets no links.

    The number of independent sources comes from `before`, because the texts of the sources are not stored.
    """
    figures = {each.name: each for each in before}
    drafted = "dropped" in figures
    reading = await asyncio.to_thread(_parse, article, others)
    if close := reading.likeness.close:
        bodies = await read(close)
        await asyncio.to_thread(reading.likeness.confirm, bodies, reading.body.prose)
    sources = figures.get("sources")
    known = len(article.cited) if sources is None else int(sources.value)
    needed = wishes.min_sources if sources is None or sources.least is None else int(sources.least)
    return await asyncio.to_thread(
        measure,
        article,
        keyword=keyword,
        sources=min(known, len(article.cited)),
        wishes=replace(wishes, min_sources=min(needed, wishes.min_sources)),
        nearest=reading.likeness.nearest,
        bounds=WRITTEN if drafted else QUOTED,
        asked=wishes.words if drafted else None,
        body=reading.body,
    )


async def compare_with_newcomers(
    judged: JudgedArticle, newcomers: Sequence[SiblingArticle], read: ReadBodies
) -> JudgedArticle:
    """Compares the article with ones stored meanwhile: of two near-duplicates, the second to be stored waits for approval."""
    likeness = _SiblingComparison(judged.fingerprint, newcomers)
    if close := likeness.close:
        bodies = await read(close)
        await asyncio.to_thread(likeness.confirm, bodies, prose_of(judged.article.body_markdown))
    nearest = likeness.nearest
    before = next(each for each in judged.measures if each.name == "likeness")
    if nearest is None or (judged.compared and nearest.share <= before.value):
        return judged
    measures = tuple(likeness_measure(nearest) if each is before else each for each in judged.measures)
    return replace(judged, measures=measures, nearest=nearest)


class _SiblingComparison:
    """Compares an article with others: by fingerprints, and word by word where those are close."""

    def __init__(self, own: Fingerprint, others: Sequence[SiblingArticle]) -> None:
        self._shares = {each.content_id: estimate(own, each.fingerprint) for each in others}
        self._ranked = sorted(others, key=lambda each: -self._shares[each.content_id])[:CONFIRMED]

    @property
    def close(self) -> list[UUID]:
        """Ids of the articles that need a comparison of texts."""
        return [each.content_id for each in self._ranked if self._shares[each.content_id] >= NEAR_ENOUGH]

    def confirm(self, bodies: Mapping[UUID, str], text: str) -> None:
        """Compares the texts: `bodies` is the Markdown of the close articles, `text` the article's prose."""
        for content_id, markdown in bodies.items():
            self._shares[content_id] = containment(prose_of(markdown), text)

    @property
    def nearest(self) -> NearestArticle | None:
        """The article that shares most with it; None if there are no others."""
        return max(
            (
                NearestArticle(
                    each.title,
                    each.address,
                    self._shares[each.content_id],
                    each.content_id,
                    is_published=each.published_url is not None,
                )
                for each in self._ranked
            ),
            key=lambda nearest: nearest.share,
            default=None,
        )


@dataclass(frozen=True, slots=True)
class _ParsedArticle:
    """An article prepared for judging."""

    body: Body
    fingerprint: Fingerprint
    likeness: _SiblingComparison


def _parse(article: Article, others: Sequence[SiblingArticle]) -> _ParsedArticle:
    body = Body(article.body_markdown)
    own = fingerprint(body.prose)
    return _ParsedArticle(body, own, _SiblingComparison(own, others))
