"""The content workflow: `content.generate` in, an article and `content.generated` out."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias
from uuid import UUID

from pydantic import TypeAdapter

from envelope import DomainMessage
from envelope.brand.payloads import ContentGenerate, ContentGenerated
from messaging import Context, Database, Record, Transaction, Unprocessable
from orchestrator.brands import Brand, find_brand
from orchestrator.writing.article import Article, Source
from orchestrator.writing.store import insert_content
from orchestrator.writing.workflow import Workflow
from orchestrator.writing.writer import Writer

FetchResearch: TypeAlias = Callable[[UUID, str], Awaitable[tuple[Source, ...]]]

SOURCES = TypeAdapter(tuple[Source, ...])
ARTICLE = TypeAdapter(Article)


class ContentWorkflow:
    """fetch research → write article → store → announce; each step durable (see workflow.py)."""

    def __init__(self, database: Database, fetch_research: FetchResearch, writer: Writer) -> None:
        self._database = database
        self._fetch_research = fetch_research
        self._writer = writer

    async def generate(self, message: DomainMessage[ContentGenerate], context: Context) -> Record:
        """Writes the article of a `content.generate`.

        Raises:
            WaitFor: research is away.
            RetryLater: this research cannot be read, or the writer cannot write, at the moment.
            Unprocessable: the brand is unknown, or the sources give no article.
        """
        command = message.payload
        brand = await self._brand(command.brand_slug)
        workflow = await Workflow.resume(self._database, command.content_id)
        sources = await workflow.step(
            "fetch_research", SOURCES, partial(self._fetch_research, command.research_id, command.brand_slug)
        )
        article = await workflow.step(
            "write_article", ARTICLE, partial(self._write, command.keyword, sources, brand)
        )
        context.log.info("article_written", content_id=str(command.content_id), words=article.word_count)

        async def record(tx: Transaction) -> None:
            unfinished = await workflow.finish(tx.connection, "store", "announce")
            if "store" in unfinished:
                await insert_content(
                    tx.connection,
                    content_id=command.content_id,
                    brand_slug=command.brand_slug,
                    keyword=command.keyword,
                    research_id=command.research_id,
                    article=article,
                    sources=[source for source in sources if source.n in article.cited],
                )
            if "announce" in unfinished:
                tx.send(_generated(command, article), caused_by=message)

        return record

    async def _write(self, keyword: str, sources: tuple[Source, ...], brand: Brand) -> Article:
        return await self._writer.write(
            keyword=keyword, sources=sources, brand_name=brand.name, language=brand.language
        )

    async def _brand(self, slug: str) -> Brand:
        async with self._database.connection() as connection:
            brand = await find_brand(connection, slug)
        if brand is None:
            raise Unprocessable(f"unknown brand '{slug}': create it with PUT /v1/brands/{slug}, then replay")
        return brand


def _generated(command: ContentGenerate, article: Article) -> ContentGenerated:
    return ContentGenerated(
        brand_slug=command.brand_slug,
        content_id=command.content_id,
        keyword=command.keyword,
        word_count=article.word_count,
    )
