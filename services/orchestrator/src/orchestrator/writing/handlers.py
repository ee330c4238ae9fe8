"""The content workflow: `content.generate` in, an article and `content.generated` out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID, uuid5

from pydantic import TypeAdapter

from chassis import DatabaseUnavailableError
from envelope import DomainMessage
from envelope.brand.payloads import ContentGenerate
from messaging import Context, Database, GroupedRecord, Record, Transaction, Unprocessable, WaitFor
from orchestrator.brands import Brand, UnwritableError, check_writer
from orchestrator.computing import Computing
from orchestrator.tallies import Tally
from orchestrator.writing.article import Article, Source
from orchestrator.writing.command_desk import TURN, CommandDesk, NotOursError, Turn
from orchestrator.writing.desk import Quick, WriterAt
from orchestrator.writing.durable import (
    Asked,
    Command,
    Openings,
    Workflow,
    note_problem,
    put_down_to_wait,
)
from orchestrator.writing.judging import Others, judge
from orchestrator.writing.storing import MAX_DETAIL, REASONS, Ended, Written, tell_too_late, write_down
from orchestrator.writing.writer import NoArticleError

FetchResearch: TypeAlias = Callable[[UUID, str], Awaitable[tuple[Source, ...]]]

SOURCES = TypeAdapter(tuple[Source, ...])
ARTICLE = TypeAdapter(Article)
PATIENCE: Final = 15.0
"""Seconds that an article waits here for its place at a writer who takes minutes."""


class ContentWorkflow:
    """fetch research → write article → judge it → store → announce; the slow steps durable (see workflow.py).

    Args:
        database: the orchestrator's.
        fetch_research: reads what research found.
        writers: by the names that brands choose them by.
        turn_seconds: after which an article is put down between two steps of its writer, and goes on behind the others that
            wait: a slow model would keep its message from being acknowledged, and other articles from being written.
        hold_seconds: how long one delivery may take at most; another command for the same article waits for that long.
        at_once: articles that writers who are not quick have in hand. Of others of theirs, each waits a moment for its place, and
            is then put down.
        computing: where articles are judged; by default a thread of its own.
    """

    def __init__(
        self,
        database: Database,
        fetch_research: FetchResearch,
        writers: Mapping[str, WriterAt],
        *,
        turn_seconds: float = 300.0,
        hold_seconds: float = 600.0,
        at_once: int = 8,
        computing: Computing | None = None,
    ) -> None:
        self._database = database
        self._fetch_research = fetch_research
        self._writers = writers
        self._turn_seconds = turn_seconds
        self.refusals = Tally(
            "articles_refused", "Articles that ended without a publication, by reason.", "reason", REASONS
        )
        self._places = asyncio.Semaphore(at_once)
        self._openings = Openings(database, timedelta(seconds=hold_seconds))
        self._others = Others(database)
        self._computing = computing or Computing()

    async def generate(
        self, message: DomainMessage[ContentGenerate], context: Context
    ) -> Record | GroupedRecord[Ended]:
        """Writes the article of a `content.generate`; it ends with `content.refused` if there is none or it has to wait.

        Raises:
            WaitFor: research or the model is away, there is no money for it, or this article had its turn.
            RetryLater: this research cannot be read, or the writer cannot write, at the moment.
            Unprocessable: the brand is unknown, or research's answer cannot be used.
        """
        payload = message.payload
        command = Command(payload.content_id, message.event_id, payload.revision, context.attempt)
        asked = Asked(command, payload.brand_slug, message.timestamp, _workflow_id(payload))
        opening = await self._openings.of(asked)
        if opening.late:
            tell_too_late(message)
            return _nothing
        brand, steps_id = opening.brand, opening.steps_id
        if brand is None:
            slug = payload.brand_slug
            raise Unprocessable(f"unknown brand '{slug}': create it with PUT /v1/brands/{slug}, then replay")
        if steps_id is None:
            return _nothing
        workflow = self._openings.workflow(asked, opening)
        try:
            async with self._place(brand, context):
                ended = await self._generate(message, context, brand, command, steps_id, workflow)
        except NotOursError:
            context.log.info("article_given_up", content_id=str(command.content_id))
            return _nothing
        except WaitFor as wait:
            async with self._database.connection() as connection:
                reason = f"waits for {wait.dependency}: {wait}"[:MAX_DETAIL]
                await put_down_to_wait(connection, command, reason, wait.after or timedelta())
            raise
        except DatabaseUnavailableError:
            raise
        except Exception as error:
            async with self._database.connection() as connection:
                problem = str(error) or type(error).__name__
                await note_problem(connection, command, problem, final=isinstance(error, Unprocessable))
            raise

        return GroupedRecord(write_down, ended)

    @asynccontextmanager
    async def _place(self, brand: Brand, context: Context) -> AsyncIterator[None]:
        """With a writer who takes minutes, only so many articles are worked on: what waits for long is better off with another replica."""
        if context.alone or isinstance(self._writers.get(brand.writer), Quick):
            yield
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError as busy:
            raise WaitFor(TURN, "others are being written, as many as may be") from busy
        try:
            yield
        finally:
            self._places.release()

    async def _generate(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        brand: Brand,
        delivered: Command,
        steps_id: UUID,
        workflow: Workflow,
    ) -> Ended:
        command = message.payload
        quick = isinstance(self._writers.get(brand.writer), Quick)
        sources = await workflow.step(
            "fetch_research",
            SOURCES,
            partial(self._fetch_research, command.research_id, command.brand_slug),
            quick=quick,
        )
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
        judged = await judge(
            self._others,
            self._computing,
            brand,
            own_ids={command.content_id} if command.renews is None else {command.content_id, command.renews},
            keyword=command.keyword,
            article=article,
            sources=sources,
        )
        cited = [source for source in sources if source.n in article.cited]
        return self._ended(message, context, brand, delivered, workflow, Written(judged, cited))

    def _ended(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        brand: Brand,
        delivered: Command,
        workflow: Workflow,
        result: Written | NoArticleError,
    ) -> Ended:
        return Ended(
            message, delivered, brand, workflow, result, log=context.log, note_refusal=self.refusals.count
        )

    async def _write(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        sources: tuple[Source, ...],
        brand: Brand,
        delivered: Command,
        steps_id: UUID,
    ) -> Article:
        try:
            check_writer(brand.writer, brand.language, self._writers.keys())
        except UnwritableError as error:
            raise Unprocessable(f"{error}; then replay") from error
        # By the command and not by the article: what comes again goes on, and a replay begins anew.
        steps = partial(Workflow.resume, self._database, steps_id)
        turn = Turn(0.0 if context.alone else self._turn_seconds)
        writer = self._writers[brand.writer](
            CommandDesk(self._database, steps, brand, delivered, message.payload.comment, turn)
        )
        return await writer.write(
            keyword=message.payload.keyword, sources=sources, brand_name=brand.name, language=brand.language
        )


async def _nothing(_: Transaction) -> None:
    """What is left to be written of a command that is not carried out any more."""


def _workflow_id(command: ContentGenerate) -> UUID:
    """The article's own; of each further time that it is written, one that is always the same."""
    if command.revision is None:
        return command.content_id
    return uuid5(command.content_id, f"revision {command.revision}")
