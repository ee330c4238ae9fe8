"""The content workflow: `content.generate` in, an article and `content.generated` out."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeAlias
from uuid import UUID, uuid5

import structlog
from pydantic import TypeAdapter

from chassis import Connection, DatabaseUnavailableError
from envelope import DomainMessage
from envelope.brand.payloads import ContentGenerate, ContentGenerated, ContentPublish, ContentRefused
from messaging import Context, Database, Record, Together, Transaction, Unprocessable, WaitFor
from orchestrator.brands import Brand, UnwritableError, check_writer, find_brand, find_brands
from orchestrator.placements import placed_as
from orchestrator.removal import comes_too_late, deleted_among
from orchestrator.subjects import key_of
from orchestrator.tallies import Tally
from orchestrator.writing.approval import wish_to_see
from orchestrator.writing.article import Article, Source
from orchestrator.writing.command_desk import CommandDesk, NotOursError, Turn
from orchestrator.writing.desk import Quick, WriterAt
from orchestrator.writing.durable import (
    Command,
    Workflow,
    finish,
    note_problem,
    put_down,
    put_down_to_wait,
    take_up,
)
from orchestrator.writing.judging import Judged, judge, judge_again
from orchestrator.writing.store import insert_content, listed, lock_storing
from orchestrator.writing.versions import Text, put_back, renew, revise
from orchestrator.writing.writer import InsufficientSourcesError, NoArticleError, UnsupportedDraftError

FetchResearch: TypeAlias = Callable[[UUID, str], Awaitable[tuple[Source, ...]]]

SOURCES = TypeAdapter(tuple[Source, ...])
ARTICLE = TypeAdapter(Article)
MAX_DETAIL = 2000
NEEDS_REVIEW = "needs_review"
"""The reason of a draft that is stored, and not published before somebody has looked at it."""
NEAR_DUPLICATE = "near_duplicate"
"""The reason of an article that is not stored, as a published one says the same."""
RENEWED = "renewed"
"""The reason of a text that has become a version of the article that it was to renew."""
NOT_RENEWED = "not_renewed"
"""The same of one that came too late."""
REASONS = (
    InsufficientSourcesError.reason,
    UnsupportedDraftError.reason,
    NEEDS_REVIEW,
    NEAR_DUPLICATE,
    NOT_RENEWED,
)
_log = structlog.get_logger(__name__)


class ContentWorkflow:
    """fetch research → write article → judge it → store → announce; the slow steps durable (see workflow.py).

    Args:
        database: the orchestrator's.
        fetch_research: reads what research found.
        writers: by the names that brands choose them by.
        turn_seconds: after which an article is put down between two steps of its writer, and goes on behind the others that
            wait: a slow model would keep its message from being acknowledged, and other articles from being written.
        hold_seconds: how long one delivery may take at most; another command for the same article waits for that long.
    """

    def __init__(
        self,
        database: Database,
        fetch_research: FetchResearch,
        writers: Mapping[str, WriterAt],
        *,
        turn_seconds: float = 300.0,
        hold_seconds: float = 600.0,
    ) -> None:
        self._database = database
        self._fetch_research = fetch_research
        self._writers = writers
        self._turn_seconds = turn_seconds
        self.refusals = Tally(
            "articles_refused", "Articles that ended without a publication, by reason.", "reason", REASONS
        )
        self._hold = timedelta(seconds=hold_seconds)

    async def generate(
        self, message: DomainMessage[ContentGenerate], context: Context
    ) -> "Record | Together[_Ended]":
        """Writes the article of a `content.generate`; it ends with `content.refused` if there is none or it has to wait.

        Raises:
            WaitFor: research or the model is away, there is no money for it, or this article had its turn.
            RetryLater: this research cannot be read, or the writer cannot write, at the moment.
            Unprocessable: the brand is unknown, or research's answer cannot be used.
        """
        payload = message.payload
        command = Command(payload.content_id, message.event_id, payload.revision, context.attempt)
        async with self._database.connection() as connection:
            if await comes_too_late(
                connection, payload.brand_slug, message.timestamp, content_id=command.content_id
            ):
                return _comes_too_late(message)
            brand = await self._brand(connection, payload.brand_slug)
            steps_id = await take_up(connection, command, self._hold)
        if steps_id is None:
            return _nothing
        try:
            ended = await self._generate(message, context, brand, command, steps_id)
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

        return Together(_write_down, ended)

    async def _generate(
        self,
        message: DomainMessage[ContentGenerate],
        context: Context,
        brand: Brand,
        delivered: Command,
        steps_id: UUID,
    ) -> "_Ended":
        command = message.payload
        workflow = await Workflow.resume(self._database, _workflow_id(command))
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
            refused = self._refusal if command.revision is None else self._kept
            return _Ended(message, delivered, workflow, refused(message, refusal))
        own_ids = [command.content_id] if command.renews is None else [command.content_id, command.renews]
        judged = await judge(
            self._database,
            brand,
            own_ids=own_ids,
            keyword=command.keyword,
            article=article,
            sources=sources,
        )

        async def store(tx: Transaction, now: Brand | None) -> None:
            final = await judge_again(tx.connection, command.brand_slug, own_ids, judged)
            # What it wants to see may have changed while the article was written.
            asked = now or brand
            held_for = (*final.held_for, *await wish_to_see(tx.connection, asked, command.keyword))
            cited = [source for source in sources if source.n in article.cited]
            if command.revision is not None:
                await self._store_again(tx, message, final, cited, held_for)
                return
            if command.renews is not None:
                await self._renew(tx, message, command.renews, final, cited, held_for, asked.target)
                return
            if (standing_id := final.standing_id) is not None:
                (why,) = final.held_for
                tx.send(self._refused(command, NEAR_DUPLICATE, why, standing_id), caused_by=message)
                context.log.info(
                    "article_says_the_same", content_id=str(command.content_id), standing=str(standing_id)
                )
                return
            await insert_content(
                tx.connection,
                content_id=command.content_id,
                brand_slug=command.brand_slug,
                keyword=command.keyword,
                research_id=command.research_id,
                article=final.article,
                sources=cited,
                measures=final.measures,
                held_for=held_for,
                fingerprint=final.fingerprint,
                subject=key_of(command.keyword, asked.language),
            )
            tx.send(self._announcement(command, final.article, held_for), caused_by=message)
            context.log.info(
                "article_held" if held_for else "article_written",
                content_id=str(command.content_id),
                **({"reasons": held_for} if held_for else {}),
                measures={each.name: each.value for each in final.measures},
            )

        return _Ended(message, delivered, workflow, store, ("store", "announce"))

    async def _store_again(
        self,
        tx: Transaction,
        message: DomainMessage[ContentGenerate],
        judged: Judged,
        sources: Sequence[Source],
        held_for: Sequence[str],
    ) -> None:
        """Has the new text wait in place of the one that was sent back, unless somebody decided otherwise meanwhile."""
        command = message.payload
        reasons = (f"it was written again: {command.comment}", *held_for)
        stored = await revise(
            tx.connection,
            command.content_id,
            _text_of(judged, sources),
            revision=command.revision or 1,
            why=f"written again: {command.comment}",
            held_for=reasons,
            fingerprint=judged.fingerprint,
        )
        if stored:
            tx.send(self._refused(command, NEEDS_REVIEW, "; ".join(reasons)), caused_by=message)
        _log.info("article_written_again", content_id=str(command.content_id), stored=stored)

    async def _renew(
        self,
        tx: Transaction,
        message: DomainMessage[ContentGenerate],
        content_id: UUID,
        judged: Judged,
        sources: Sequence[Source],
        waits_for: Sequence[str],
        target: str,
    ) -> None:
        """Makes the text a version of the article that it renews, at its address. That is published again, and posted no second time."""
        command = message.payload
        renewed = await renew(
            tx.connection,
            content_id,
            _text_of(judged, sources),
            why="written anew",
            waits_for=waits_for,
            fingerprint=judged.fingerprint,
        )
        if renewed is None:
            why = (
                f"its article is not published any more (/v1/drafts/{content_id}), so that nothing was stored"
            )
            tx.send(self._refused(command, NOT_RENEWED, why), caused_by=message)
            return
        written = f"its article was written anew, as version {renewed.version}"
        if renewed.waits_for:
            reasons = "; ".join(renewed.waits_for)
            why = f"{written}, which waits to be approved (/v1/drafts/{content_id}): {reasons}"
        else:
            why = f"{written} ({renewed.published_url})"
            await placed_as(tx, content_id, target)
            tx.send(
                ContentPublish(brand_slug=command.brand_slug, content_id=content_id, target=target),
                caused_by=message,
            )
        tx.send(self._refused(command, RENEWED, why, content_id), caused_by=message)
        _log.info("article_renewed", content_id=str(content_id), version=renewed.version)

    def _kept(self, message: DomainMessage[ContentGenerate], refusal: NoArticleError) -> "_Follow":
        """The draft that was sent back waits again: nothing came of writing it another time."""
        command = message.payload

        async def record(tx: Transaction, _: Brand | None) -> None:
            why = f"it could not be written again ({refusal.reason}: {refusal})"[:MAX_DETAIL]
            if await put_back(tx.connection, command.content_id, command.revision or 1, why):
                tx.send(self._refused(command, NEEDS_REVIEW, why), caused_by=message)

        return record

    def _refusal(self, message: DomainMessage[ContentGenerate], refusal: NoArticleError) -> "_Follow":
        async def record(tx: Transaction, _: Brand | None) -> None:
            tx.send(self._refused(message.payload, refusal.reason, str(refusal)), caused_by=message)

        return record

    def _announcement(
        self, command: ContentGenerate, article: Article, held_for: Sequence[str]
    ) -> ContentGenerated | ContentRefused:
        if held_for:
            return self._refused(command, NEEDS_REVIEW, "; ".join(held_for))
        return ContentGenerated(
            brand_slug=command.brand_slug,
            content_id=command.content_id,
            keyword=command.keyword,
            word_count=article.word_count,
        )

    def _refused(
        self, command: ContentGenerate, reason: str, detail: str, standing_id: UUID | None = None
    ) -> ContentRefused:
        if reason != RENEWED:
            self.refusals.count(reason)
        return ContentRefused(
            brand_slug=command.brand_slug,
            content_id=command.content_id,
            keyword=command.keyword,
            reason=reason,
            detail=detail[:MAX_DETAIL],
            standing_id=standing_id,
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

    async def _brand(self, connection: Connection, slug: str) -> Brand:
        brand = await find_brand(connection, slug)
        if brand is None:
            raise Unprocessable(f"unknown brand '{slug}': create it with PUT /v1/brands/{slug}, then replay")
        return brand


_Follow: TypeAlias = Callable[[Transaction, Brand | None], Awaitable[None]]


@dataclass(frozen=True, slots=True, eq=False)
class _Ended:
    """What a command has come to."""

    message: DomainMessage[ContentGenerate]
    delivered: Command
    workflow: Workflow
    follow: _Follow
    """What is written and sent, given the brand as it is now."""
    steps: tuple[str, ...] = ()
    """Those that this is; they are done once."""

    @property
    def content_id(self) -> UUID:
        return self.delivered.content_id

    @property
    def slug(self) -> str:
        return self.message.payload.brand_slug


async def _write_down(tx: Transaction, ended: Sequence[_Ended]) -> None:
    """What follows from commands that ended at the same time; each as if it were alone, with few statements for all."""
    kept = await put_down(tx.connection, [each.delivered for each in ended])
    going = []
    for each in ended:
        writing = kept.get(each.content_id)
        if writing is None and await comes_too_late(
            tx.connection, each.slug, each.message.timestamp, content_id=each.content_id
        ):
            await _comes_too_late(each.message)(tx)
        elif writing is None or not writing.cancelled:
            going.append(each)
    if not going:
        return
    ours = [
        each
        for each in going
        if each.steps
        or (each.content_id in kept and kept[each.content_id].event_id == each.delivered.event_id)
    ]
    finished = await finish(tx.connection, [(each.workflow, each.steps) for each in ours])
    # After the steps: while they are there, the article cannot have been deleted.
    deleted = await deleted_among(tx.connection, {each.content_id for each in going})
    storing = [each for each in going if each.steps and each.workflow in finished]
    brands = {}
    if storing:
        await lock_storing(tx.connection)
        brands = await find_brands(tx.connection, {each.slug for each in storing})
    for each in going:
        if each.content_id in deleted:
            await each.workflow.forget(tx.connection)
            await _comes_too_late(each.message)(tx)
        elif not each.steps or each.workflow in finished:
            await each.follow(tx, brands.get(each.slug))


def _comes_too_late(message: DomainMessage[ContentGenerate]) -> Record:
    """An article that was deleted, or whose brand was erased, is not written anew, whoever asks: a redelivery, a replay."""
    _log.info(
        "message_comes_too_late",
        content_id=str(message.payload.content_id),
        event_id=str(message.event_id),
    )
    return _nothing


async def _nothing(_: Transaction) -> None:
    """What is left to be written of a command that is not carried out any more."""


def _workflow_id(command: ContentGenerate) -> UUID:
    """The article's own; of each further time that it is written, one that is always the same."""
    if command.revision is None:
        return command.content_id
    return uuid5(command.content_id, f"revision {command.revision}")


def _text_of(judged: Judged, sources: Sequence[Source]) -> Text:
    article = judged.article
    return Text(
        slug=article.slug,
        title=article.title,
        meta_description=article.meta_description,
        body_markdown=article.body_markdown,
        word_count=article.word_count,
        key_points=article.key_points,
        label=article.label,
        sources=tuple(listed(sources)),
        measures=judged.measures,
    )
