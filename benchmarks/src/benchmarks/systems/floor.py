"""One process that does the services' work on a keyword, without messages and HTTP: `python -m benchmarks.systems.floor`.

It calls the services' own functions: search, rank, compose, judge, render, compose the post. It stores the rows that a
keyword leaves, in databases like those of the services. Each step is one transaction for all keywords of a brand, as busy
services store several at a time. There is no inbox and no outbox, and no state of a step that is under way.

DATABASES in the environment has the URL of each service's database, as JSON; CORPUS the folder of documents. A line of
brands on the standard input, in JSON, has all keywords handled for each; the answer is a line with the digest of each text.
"""

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID, uuid4

import structlog
import uvloop

from benchmarks.systems.stack import KEYWORDS
from benchmarks.systems.texts import digest
from chassis.database.pool import Connections, kept_plans
from chassis.links import public_link
from envelope import new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.article import ArticleText
from envelope.brand.payloads import ContentPublished, Priority, SocialCreate
from envelope.brand.settings import MIN_SOURCES, BrandSettings
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.article_workflow.domain import wishes_of
from orchestrator.article_workflow.post_material import context_of
from orchestrator.article_workflow.store import NewContent, insert_contents, mark_published
from orchestrator.article_workflow.versions import text_of
from orchestrator.brands import BrandRow, upsert_brand
from orchestrator.cycles import CycleId, NewCycle
from orchestrator.cycles.store import begin_cycle
from publisher import store as pages
from publisher.domain import Article as PublishedArticle
from publisher.domain import BrandSlug as SiteSlug
from publisher.markup import Home, to_html
from publisher.urls import SiteUrls
from reading.pool import ReaderPool
from reading.ranking.sources import ResearchResult, ResearchSource
from research import store as researches
from research.clients.local_corpus import LocalCorpus
from social import domain as posts
from social import store as feeds
from social.domain import BrandSlug as FeedSlug
from writing.article import ArticleSource, SourcePassage
from writing.body import Body
from writing.computing import ComputeThread
from writing.extractive.writer import ExtractiveWriter
from writing.judging import JudgedArticle, SiblingArticle, judge_article

_SITES: Final = SiteUrls.under("http://127.0.0.1:8012")
_COMPLETED: Final = """
    update keywords as k
    set state = 'completed', research_id = n.research_id, content_id = n.content_id, generated = true,
        published_url = n.url, promoted = true, awaits_turn = false, moved_at = now()
    from unnest($2::uuid[], $3::uuid[], $4::text[]) with ordinality as n (research_id, content_id, url, position)
    where k.cycle_id = $1 and k.position = n.position
"""
ResultT = TypeVar("ResultT")


class _Here(ComputeThread):
    """Computes where it is asked: there are no messages for which the event loop must stay free."""

    async def do(self, work: Callable[[], ResultT]) -> ResultT:
        return work()


@dataclass(frozen=True, slots=True)
class _WrittenArticle:
    content_id: UUID
    keyword: str
    judged: JudgedArticle
    cited: Sequence[ArticleSource]

    @property
    def sibling(self) -> SiblingArticle:
        article = self.judged.article
        return SiblingArticle(self.content_id, 1, self.keyword, article.title, None, self.judged.fingerprint)


class _Floor:
    def __init__(self, databases: Mapping[str, Database], corpus: LocalCorpus) -> None:
        self._orchestrator = databases["orchestrator"]
        self._research = databases["research"]
        self._publisher = databases["publisher"]
        self._social = databases["social"]
        self._corpus = corpus
        self._here = _Here()
        self._writer = ExtractiveWriter(MIN_SOURCES, self._here)

    async def handle(self, slug: str) -> dict[str, str]:
        """Handles all keywords of a new brand, step by step; returns the digest of each text."""
        cycle_id = CycleId(uuid4())
        async with self._orchestrator.transaction() as tx:
            brand, _ = await upsert_brand(tx.connection, slug, BrandSettings(name=slug))
            cycle = NewCycle(cycle_id, str(cycle_id), brand.slug, Priority.NORMAL, KEYWORDS, None, b"")
            await begin_cycle(tx.connection, cycle)
        found = [await self._search(brand, keyword) for keyword in KEYWORDS]
        research_ids = await self._store_research(brand, found)
        written = await self._write(brand, found)
        new = map(partial(_content, brand), research_ids, written)
        async with self._orchestrator.transaction() as tx:
            await insert_contents(tx.connection, list(new))
        published = await self._publish(brand, written)
        await self._promote(brand, written, published)
        async with self._orchestrator.transaction() as tx:
            await mark_published(tx.connection, published)
            await tx.connection.execute(
                _COMPLETED,
                cycle_id,
                research_ids,
                [each.content_id for each in written],
                [each.published_url for each in published],
            )
        articles = [each.judged.article for each in written]
        return {
            keyword: digest(article.title, article.body_markdown)
            for keyword, article in zip(KEYWORDS, articles, strict=True)
        }

    async def _search(self, brand: BrandRow, keyword: str) -> ResearchResult:
        found = await self._corpus.search(keyword, brand=brand.slug)
        assert isinstance(found, ResearchResult), found
        return found

    async def _store_research(self, brand: BrandRow, found: Sequence[ResearchResult]) -> Sequence[UUID]:
        new = [
            researches.NewResearch(
                researches.ResearchCacheKey(brand.slug, keyword, "local_corpus", ""),
                Priority.NORMAL,
                each.sources,
            )
            for keyword, each in zip(KEYWORDS, found, strict=True)
        ]
        async with self._research.transaction() as tx:
            return await researches.save_researches(tx.connection, new)

    async def _write(self, brand: BrandRow, found: Sequence[ResearchResult]) -> Sequence[_WrittenArticle]:
        written: dict[UUID, _WrittenArticle] = {}

        async def read(content_ids: Sequence[UUID]) -> Mapping[UUID, str]:
            return {each: written[each].judged.article.body_markdown for each in content_ids}

        for keyword, research in zip(KEYWORDS, found, strict=True):
            sources = tuple(_source(n, each) for n, each in enumerate(research.sources, start=1))
            article = await self._writer.write(
                keyword=keyword, sources=sources, brand_name=brand.name, language=brand.language
            )
            judged = await judge_article(
                article,
                sources,
                keyword=keyword,
                others=[each.sibling for each in written.values()],
                read=read,
                wishes=wishes_of(brand),
                computing=self._here,
            )
            cited = [each for each in sources if each.n in article.cited]
            content_id = new_event_id()
            written[content_id] = _WrittenArticle(content_id, keyword, judged, cited)
        return list(written.values())

    async def _publish(
        self, brand: BrandRow, written: Sequence[_WrittenArticle]
    ) -> Sequence[ContentPublished]:
        rendered = [_render(brand, each) for each in written]
        async with self._publisher.transaction() as tx:
            slugs = await pages.publish(tx.connection, *rendered)
        site = SiteSlug(brand.slug)
        return [
            ContentPublished(
                brand_slug=brand.slug,
                content_id=each.article.content_id,
                published_url=_SITES.absolute(_SITES.article(site, slugs[each.article.content_id])),
                as_of=each.article.updated_at,
            )
            for each in rendered
        ]

    async def _promote(
        self, brand: BrandRow, written: Sequence[_WrittenArticle], published: Sequence[ContentPublished]
    ) -> None:
        commands = [
            _post_wanted(brand, each, event.published_url)
            for each, event in zip(written, published, strict=True)
        ]
        made = [post for command in commands if (post := posts.plan(command).post) is not None]
        async with self._social.transaction() as tx:
            names = {FeedSlug(brand.slug): brand.name}
            await feeds.publish(
                tx.connection, made, names, chains=dict.fromkeys([each.content_id for each in made])
            )


def _render(brand: BrandRow, written: _WrittenArticle) -> pages.RenderedArticle:
    text = text_of(written.judged.article, written.cited, written.judged.measures)
    article = PublishedArticle.model_validate(
        {
            **text.model_dump(include={*ArticleText.model_fields, "sources"}),
            "content_id": written.content_id,
            "brand": {"slug": brand.slug, "name": brand.name, "language": brand.language},
            "keyword": written.keyword,
            "word_count": written.judged.article.word_count,
            "updated_at": datetime.now(UTC),
        }
    )
    home = Home(_SITES.origin, _SITES.site(SiteSlug(brand.slug)))
    markup = to_html(article.body_markdown, frozenset(each.n for each in article.sources), home)
    return pages.RenderedArticle(article, markup, None)


def _post_wanted(brand: BrandRow, written: _WrittenArticle, url: str) -> SocialCreate:
    article = written.judged.article
    return SocialCreate(
        brand_slug=brand.slug,
        content_id=written.content_id,
        article_context=context_of(
            title=article.title,
            keyword=written.keyword,
            meta_description=article.meta_description,
            key_points=article.key_points,
            body=Body(article.body_markdown),
            sources=text_of(article, written.cited, ()).sources,
        ),
        published_url=url,
        brand_name=brand.name,
        language=brand.language,
    )


def _content(brand: BrandRow, research_id: UUID, written: _WrittenArticle) -> NewContent:
    return NewContent(
        content_id=written.content_id,
        brand_slug=brand.slug,
        keyword=written.keyword,
        research_id=research_id,
        article=written.judged.article,
        sources=written.cited,
        measures=written.judged.measures,
        fingerprint=written.judged.fingerprint,
    )


def _source(n: int, source: ResearchSource) -> ArticleSource:
    """The source as the orchestrator reads it."""
    return ArticleSource(
        n=n,
        title=source.title,
        url=public_link(source.url),
        path=source.path,
        licence=source.licence,
        published_on=source.published_on,
        author=source.author,
        quotable=source.quotable,
        work=source.work,
        passages=tuple(SourcePassage(each.heading, each.text, each.score) for each in source.passages),
        section=source.section,
        about=source.about,
        titles_above=tuple(source.titles_above),
    )


@asynccontextmanager
async def _open(urls: Mapping[str, str]) -> AsyncIterator[dict[str, Database]]:
    async with AsyncExitStack() as cleanup:
        databases = {}
        for service, url in urls.items():
            connections = Connections(url, name="the floor", size=4)
            await connections.open()
            cleanup.push_async_callback(connections.close)
            # Nothing is published: the publisher never connects.
            relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="the floor"))
            databases[service] = Database(connections, relay, service, CATALOGUE)
        yield databases


async def _main() -> None:
    async with _open(json.loads(os.environ["DATABASES"])) as databases:
        corpus = LocalCorpus(databases["research"], Path(os.environ["CORPUS"]), readers=ReaderPool())
        await corpus.refresh()
        floor = _Floor(databases, corpus)
        # As a service does once it is ready.
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        with kept_plans():
            while line := await asyncio.to_thread(sys.stdin.readline):
                digests = [await floor.handle(brand) for brand in json.loads(line)]
                print(json.dumps(digests), flush=True)


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    uvloop.run(_main())
