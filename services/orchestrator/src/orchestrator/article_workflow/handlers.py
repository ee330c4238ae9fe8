"""Handles `content.generate`: fetches the research, writes the article and stores it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID, uuid5

from pydantic import TypeAdapter

from chassis import DatabaseUnavailableError
from envelope import DomainMessage
from envelope.brand.payloads import ContentGenerate
from messaging import Context, Database, GroupedRecord, Record, Transaction, Unprocessable, WaitFor
from orchestrator.article_workflow.domain import wishes_of
from orchestrator.article_workflow.durable import (
    ClaimBatcher,
    DeliveredCommand,
    DurableWorkflow,
    WritingCommand,
    note_problem,
    release_to_wait,
)
from orchestrator.article_workflow.durable_context import (
    TURN,
    DurableWritingContext,
    SupersededError,
    TimeSlice,
)
from orchestrator.article_workflow.outcomes import (
    MAX_DETAIL,
    FinishedArticle,
    WritingOutcome,
    log_too_late,
    store_outcomes,
)
from orchestrator.article_workflow.question_search import SOURCES, FetchResearch, QuestionSearch
from orchestrator.article_workflow.siblings import SiblingArticles
from orchestrator.brands import BrandRow, UnusableWriterError, check_writer
from writing.article import Article, ArticleSource
from writing.computing import ComputeThread
from writing.context import StatelessWriter, WriterFactory
from writing.judging import judge_article
from writing.writer import NoArticleError, UnusableModelAnswerError

ARTICLE = TypeAdapter(Article)
PATIENCE: Final = 15.0
"""Seconds that an article waits in this process for a free place at a slow writer."""


class ContentWorkflow:
    """fetch research → write article → judge it → store → announce; the slow steps durable (see workflow.py).

    Args:
        database: the orchestrator's.
        fetch_research: reads the sources of a research.
        writers: by the names with which brands choose them.
        turn_seconds: the article is released between two steps after this time, and continues behind the others that
            wait. Otherwise a slow model would delay the message's acknowledgement and other articles.
        hold_seconds: longest time of one delivery; another command for the same article waits that long.
        at_once: articles that slow writers work on at the same time. Further ones wait `PATIENCE` for a place, and are
            then released.
        computing: where articles are judged; by default a thread of its own.
        count_refusal: counts an article that ended without a publication, by its reason.
    """

    def __init__(
        self,
        database: Database,
        fetch_research: FetchResearch,
        writers: Mapping[str, WriterFactory],
        *,
        turn_seconds: float = 300.0,
        hold_seconds: float = 600.0,
        at_once: int = 8,
        computing: ComputeThread | None = None,
        count_refusal: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._database = database
        self._fetch_research = fetch_research
        self._writers = writers
        self._turn_seconds = turn_seconds
        self._count_refusal = count_refusal
        self._places = asyncio.Semaphore(at_once)
        self._claims = ClaimBatcher(database, timedelta(seconds=hold_seconds))
        self._siblings = SiblingArticles(database)
        self._computing = computing or ComputeThread()

    async def generate(
        self, message: DomainMessage[ContentGenerate], context: Context
    ) -> Record | GroupedRecord[WritingOutcome]:
        """Writes the article of a `content.generate`; without an article, or if it needs approval, the end is `content.refused`.

        Raises:
            WaitFor: research or the model is away, the budget is spent, or the article's time slice is over.
            RetryLater: this research cannot be read, or the writer cannot write, at the moment.
            Unprocessable: the brand is unknown, or research's answer cannot be used.
        """
        payload = message.payload
        command = DeliveredCommand(payload.content_id, message.event_id, payload.revision, context.attempt)
        asked = WritingCommand(command, payload.brand_slug, message.timestamp, _workflow_id(payload))
        state = await self._claims.claim(asked)
        if state.late:
            log_too_late(message)
            return _store_nothing
        brand, steps_id = state.brand, state.steps_id
        if brand is None:
            slug = payload.brand_slug
            raise Unprocessable(
                f"unknown brand '{slug}': create it (brandctl brands set {slug} --name NAME), then replay"
            )
        if steps_id is None:
            return _store_nothing
        workflow = self._claims.workflow(asked, state)
        try:
            async with self._place(brand, context):
                ended = await self._generate(message, context, brand, command, steps_id, workflow)
        except SupersededError:
            context.log.info("article_given_up", content_id=str(command.content_id))
            return _store_nothing
        except WaitFor as wait:
            async with self._database.connection() as connection:
                reason = f"waits for {wait.dependency}: {wait}"[:MAX_DETAIL]
                await release_to_wait(connection, command, reason, wait.after or timedelta())
            raise
        except DatabaseUnavailableError:
            raise
        except Exception as error:
            async with self._database.connection() as connection:
                problem = str(error) or type(error).__name__
                await note_problem(connection, command, problem, final=isinstance(error, Unprocessable))
            raise

        return GroupedRecord(store_outcomes, ended)

    @asynccontextmanager
    async def _place(self, brand: BrandRow, context: Context) -> AsyncIterator[None]:
        """Limits the articles in work at slow writers; raises WaitFor if no place becomes free, so that another replica can help."""
        if context.alone or isinstance(self._writers.get(brand.writer), StatelessWriter):
            yield
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError as busy:
            raise WaitFor(TURN, "the writer is busy with as many articles as may be") from busy
        try:
            yield
        finally:
            self._places.release()

    async def _generate(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        brand: BrandRow,
        delivered: DeliveredCommand,
        steps_id: UUID,
        workflow: DurableWorkflow,
    ) -> WritingOutcome:
        command = message.payload
        quick = isinstance(self._writers.get(brand.writer), StatelessWriter)
        sources = await workflow.step(
            "fetch_research",
            SOURCES,
            partial(self._fetch_research, command.research_id, command.brand_slug),
            quick=quick,
        )
        # Before a quick writer composes: commands that begin together share one query, while articles end one by one.
        # What is stored meanwhile is compared with when this article is stored.
        siblings = await self._siblings.load(brand.slug) if quick else None
        try:
            article = await workflow.step(
                "write_article",
                ARTICLE,
                partial(self._write, message, context, sources, brand, delivered, steps_id),
                quick=quick,
            )
        except NoArticleError as refusal:
            context.log.info(
                "article_refused",
                content_id=str(command.content_id),
                reason=refusal.reason,
                detail=str(refusal),
            )
            return self._ended(message, context, brand, delivered, workflow, refusal)
        sources = (*sources, *article.found)
        if siblings is None:
            siblings = await self._siblings.load(brand.slug)
        own_ids = {command.content_id, command.renews}
        judged = await judge_article(
            article,
            sources,
            keyword=command.keyword,
            others=[each for each in siblings if each.content_id not in own_ids],
            read=self._siblings.bodies,
            wishes=wishes_of(brand),
            computing=self._computing,
        )
        cited = [source for source in sources if source.n in article.cited]
        return self._ended(message, context, brand, delivered, workflow, FinishedArticle(judged, cited))

    def _ended(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        brand: BrandRow,
        delivered: DeliveredCommand,
        workflow: DurableWorkflow,
        result: FinishedArticle | NoArticleError,
    ) -> WritingOutcome:
        return WritingOutcome(
            message, delivered, brand, workflow, result, log=context.log, note_refusal=self._count_refusal
        )

    async def _write(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        sources: tuple[ArticleSource, ...],
        brand: BrandRow,
        delivered: DeliveredCommand,
        steps_id: UUID,
    ) -> Article:
        try:
            check_writer(brand.writer, brand.language, self._writers.keys())
        except UnusableWriterError as error:
            raise Unprocessable(f"{error}; then replay") from error
        # By command, not by article: a redelivery continues its steps, and a replay starts over.
        steps = partial(DurableWorkflow.resume, self._database, steps_id)
        turn = TimeSlice(0.0 if context.alone else self._turn_seconds)
        writer = self._writers[brand.writer](
            DurableWritingContext(
                self._database,
                steps,
                brand,
                delivered,
                message.payload.comment,
                turn,
                QuestionSearch(self._database, self._fetch_research, message),
            )
        )
        try:
            return await writer.write(
                keyword=message.payload.keyword,
                sources=sources,
                brand_name=brand.name,
                language=brand.language,
            )
        except UnusableModelAnswerError as error:
            raise Unprocessable(
                f"{error}; try another model (MODEL_NAME) or give the brand the extractive writer, then replay"
            ) from error


async def _store_nothing(_: Transaction) -> None:
    """Stores nothing: the command is cancelled, superseded or too late."""


def _workflow_id(command: ContentGenerate) -> UUID:
    """Returns the article's id; for a revision, an id derived from the article and the revision's number."""
    if command.revision is None:
        return command.content_id
    return uuid5(command.content_id, f"revision {command.revision}")
