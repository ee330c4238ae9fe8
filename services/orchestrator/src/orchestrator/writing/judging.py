"""What a finished article is held against before it may be published: its measures, and the brand's other articles."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from chassis import Connection
from messaging import Database
from orchestrator.brands import Brand
from orchestrator.writing.article import Article, Source
from orchestrator.writing.body import Body, prose_of
from orchestrator.writing.linking import Published, linked
from orchestrator.writing.quality import (
    QUOTED,
    WRITTEN,
    Fingerprint,
    Measure,
    Nearest,
    estimate,
    fingerprint,
    independent,
    measure,
    near,
    problems,
    said_by,
)
from orchestrator.writing.store import Other, bodies_of, other_articles

CONFIRMED = 3
"""So many of those that fingerprints call nearest are compared word by word."""
NEAR_ENOUGH = 0.4
"""What fingerprints put below this is no near-duplicate, and their word is enough."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An article as it will be stored."""

    article: Article
    """With its links."""
    measures: tuple[Measure, ...]
    fingerprint: Fingerprint
    compared: frozenset[UUID]
    """The articles that it was compared with."""
    nearest: Nearest | None = None
    """The one of them that says most of it."""

    @property
    def held_for(self) -> tuple[str, ...]:
        """Why it must not be published before a person has looked at it; empty if nothing is wrong."""
        return problems(self.measures)

    @property
    def standing_id(self) -> UUID | None:
        """The published article that says the same, if that is all that is wrong with this one."""
        if self.nearest is None or not self.nearest.is_published or len(self.held_for) != 1:
            return None
        return self.nearest.content_id if near(self.nearest).problem is not None else None


async def judge(
    database: Database,
    brand: Brand,
    *,
    own_ids: Sequence[UUID],
    keyword: str,
    article: Article,
    sources: Sequence[Source],
) -> Judged:
    """Measures the article, and links it with what the brand has published, but for those that are the article itself."""
    async with database.connection() as connection:
        others = await other_articles(connection, brand.slug, but=own_ids)
    body, own = await asyncio.to_thread(_read, article)
    nearest = await _nearest(partial(_bodies, database), lambda: body.prose, own, others)
    published = [
        Published(each.keyword, each.title, each.published_url) for each in others if each.published_url
    ]

    def work() -> Judged:
        figures = measure(
            article,
            keyword=keyword,
            sources=independent([each for each in sources if each.n in article.cited]),
            forbidden=brand.forbidden_words,
            nearest=nearest,
            bounds=QUOTED if article.draft is None else WRITTEN,
            asked=None if article.draft is None else brand.words,
            body=body,
        )
        markdown, links = linked(body, keyword=keyword, published=published)
        return Judged(
            article=replace(article, body_markdown=markdown),
            measures=(*figures, Measure("links", links, f"{links} to other articles of the brand")),
            fingerprint=own,
            compared=frozenset(each.content_id for each in others),
            nearest=nearest,
        )

    return await asyncio.to_thread(work)


async def measure_edited(
    database: Database,
    brand: Brand,
    *,
    content_id: UUID,
    keyword: str,
    article: Article,
    before: Sequence[Measure],
) -> tuple[Measure, ...]:
    """All that is measured of a text that a person made of one with the measures `before`; no link is set.

    How many of its sources are independent of each other is known from before: their texts are not there any more.
    """
    figures = {each.name: each for each in before}
    drafted = "dropped" in figures
    async with database.connection() as connection:
        others = await other_articles(connection, brand.slug, but=[content_id])
    body, own = await asyncio.to_thread(_read, article)
    nearest = await _nearest(partial(_bodies, database), lambda: body.prose, own, others)
    known = int(figures["sources"].value) if "sources" in figures else len(article.cited)
    return await asyncio.to_thread(
        measure,
        article,
        keyword=keyword,
        sources=min(known, len(article.cited)),
        forbidden=brand.forbidden_words,
        nearest=nearest,
        bounds=WRITTEN if drafted else QUOTED,
        asked=brand.words if drafted else None,
        body=body,
    )


async def judge_again(
    connection: Connection, brand_slug: str, own_ids: Sequence[UUID], judged: Judged
) -> Judged:
    """Compares it with what was stored since. Nobody else may store any (`lock_storing`) until the caller has, in the same transaction.

    So of two near-duplicates that are written at the same time, the second to be stored waits.
    """
    newcomers = await other_articles(connection, brand_slug, but=[*own_ids, *judged.compared])
    if not newcomers:
        return judged
    prose = partial(prose_of, judged.article.body_markdown)
    nearest = await _nearest(partial(bodies_of, connection), prose, judged.fingerprint, newcomers)
    before = next(each for each in judged.measures if each.name == "likeness")
    if nearest is None or (judged.compared and nearest.share <= before.value):
        return judged
    measures = tuple(near(nearest) if each is before else each for each in judged.measures)
    return replace(judged, measures=measures, nearest=nearest)


def _read(article: Article) -> tuple[Body, Fingerprint]:
    body = Body(article.body_markdown)
    return body, fingerprint(body.prose)


async def _bodies(database: Database, content_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    async with database.connection() as connection:
        return await bodies_of(connection, content_ids)


async def _nearest(
    read: Callable[[Sequence[UUID]], Awaitable[Mapping[UUID, str]]],
    prose: Callable[[], str],
    own: Fingerprint,
    others: Sequence[Other],
) -> Nearest | None:
    """The one of the others that says most of the article, whose text and fingerprint these are; None if there are none.

    The texts are looked at where fingerprints say that they are close; `read` gives the Markdown of others.
    """
    shares = {each.content_id: estimate(own, each.fingerprint) for each in others}
    ranked = sorted(others, key=lambda each: -shares[each.content_id])[:CONFIRMED]
    close = [each.content_id for each in ranked if shares[each.content_id] >= NEAR_ENOUGH]
    if close:
        text = prose()
        for content_id, markdown in (await read(close)).items():
            shares[content_id] = await asyncio.to_thread(_said_by, markdown, text)
    return max(
        (
            Nearest(
                each.title,
                each.address,
                shares[each.content_id],
                each.content_id,
                is_published=each.published_url is not None,
            )
            for each in ranked
        ),
        key=lambda nearest: nearest.share,
        default=None,
    )


def _said_by(other_markdown: str, text: str) -> float:
    return said_by(prose_of(other_markdown), text)
