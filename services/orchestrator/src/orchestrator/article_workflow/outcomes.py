"""Stores the results of commands that end at the same time, and announces them, in one transaction.

The commands are treated as if each were alone, in the order in which they ended, with few statements for all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self, TypeAlias
from uuid import UUID

import structlog

from envelope import DeadLetterResolved, DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentGenerate, ContentGenerated, ContentPublish, ContentRefused
from messaging import Transaction
from orchestrator.article_workflow.approval import (
    SubjectHistory,
    approval_reasons,
    load_held_by_request,
    load_subject_histories,
)
from orchestrator.article_workflow.durable import (
    DeliveredCommand,
    DurableWorkflow,
    ReleasedWriting,
    finish,
    release_articles,
)
from orchestrator.article_workflow.siblings import load_bodies, load_siblings
from orchestrator.article_workflow.store import NewContent, insert_contents, lock_storing
from orchestrator.article_workflow.versions import return_to_review, store_renewal, store_rewrite, text_of
from orchestrator.brands import BrandRow, find_brands
from orchestrator.judge_exams import PassedJudges, judge_reasons, load_passed_judges
from orchestrator.placements import set_home
from orchestrator.removal import MessageSubject, deleted_among, find_late
from orchestrator.subjects import KeywordOfContent, SubjectKey, name_contents
from writing.article import ArticleSource
from writing.judging import JudgedArticle, SiblingArticle, compare_with_newcomers
from writing.writer import InsufficientSourcesError, NoArticleError, UnsupportedDraftError

MAX_DETAIL: Final = 2000
NEEDS_REVIEW: Final = "needs_review"
"""The reason of a stored draft that needs a person's approval."""
NEAR_DUPLICATE: Final = "near_duplicate"
"""The reason of an article that is not stored, because a published one says the same."""
RENEWED: Final = "renewed"
"""The reason of a text that became a new version of the article it renews."""
NOT_RENEWED: Final = "not_renewed"
"""The reason of a renewal that came too late."""
REASONS: Final = (
    InsufficientSourcesError.reason,
    UnsupportedDraftError.reason,
    NEEDS_REVIEW,
    NEAR_DUPLICATE,
    NOT_RENEWED,
)
STEPS: Final = ("store", "announce")
"""The last steps of a command that produced an article."""
COMMANDS_QUEUE: Final = CATALOGUE.type_of(ContentGenerate).queue
"""The queue that commands come from; a finished command resolves their dead letters."""
_log = structlog.get_logger(__name__)

Message: TypeAlias = DomainMessage[ContentGenerate]


@dataclass(frozen=True, slots=True)
class FinishedArticle:
    """A judged article, ready to be stored."""

    judged: JudgedArticle
    sources: Sequence[ArticleSource]
    """The sources that it cites."""


@dataclass(frozen=True, slots=True, eq=False)
class WritingOutcome:
    """The result of one command: an article, or the reason for its absence."""

    message: Message
    delivered: DeliveredCommand
    brand: BrandRow
    """The brand's settings when the command began."""
    workflow: DurableWorkflow
    result: FinishedArticle | NoArticleError
    log: structlog.stdlib.BoundLogger
    note_refusal: Callable[[str], object]
    """Counts a refusal by its reason."""

    @property
    def command(self) -> ContentGenerate:
        return self.message.payload

    @property
    def content_id(self) -> UUID:
        return self.delivered.content_id

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that storing this result completes; each happens once."""
        return STEPS if isinstance(self.result, FinishedArticle) else ()

    def refused(self, reason: str, detail: str, standing_id: UUID | None = None) -> ContentRefused:
        if reason != RENEWED:
            self.note_refusal(reason)
        return ContentRefused(
            brand_slug=self.command.brand_slug,
            content_id=self.command.content_id,
            keyword=self.command.keyword,
            reason=reason,
            detail=detail[:MAX_DETAIL],
            standing_id=standing_id,
        )


async def store_outcomes(tx: Transaction, ended: Sequence[WritingOutcome]) -> None:
    """Stores the results of commands and announces them; skips articles that were deleted, erased or cancelled meanwhile."""
    kept = await release_articles(tx.connection, [each.delivered for each in ended])
    late = await _find_too_late(tx, [each for each in ended if each.content_id not in kept])
    going = []
    for each in ended:
        writing = kept.get(each.content_id)
        if each in late:
            log_too_late(each.message)
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
    # After the steps: while their rows exist, the article cannot have been deleted.
    deleted = await deleted_among(tx.connection, {each.content_id for each in going})
    written = [
        (each, each.result)
        for each in going
        if isinstance(each.result, FinishedArticle)
        and each.workflow in finished
        and each.content_id not in deleted
    ]
    storing = await _ArticleBatch.begin(tx, written)
    for each in going:
        if each.content_id in deleted:
            await each.workflow.forget(tx.connection)
            log_too_late(each.message)
        elif isinstance(each.result, NoArticleError):
            await _refuse(tx, each, each.result)
            _resolve_former(tx, each, kept.get(each.content_id))
        elif each.workflow in finished:
            await storing.store(each, each.result)
            _resolve_former(tx, each, kept.get(each.content_id))
    await storing.finish()


async def _find_too_late(tx: Transaction, ended: Sequence[WritingOutcome]) -> set[WritingOutcome]:
    if not ended:
        return set()
    about = [
        MessageSubject(each.command.brand_slug, each.message.timestamp, each.content_id) for each in ended
    ]
    found = await find_late(tx.connection, about)
    return {each for each, is_late in zip(ended, found, strict=True) if is_late}


def _resolve_former(tx: Transaction, ended: WritingOutcome, writing: ReleasedWriting | None) -> None:
    """Resolves the dead letters of the commands that this one replaced.

    A command that never died costs one row, which is cleaned up later.
    """
    if writing is None:
        return
    for former_id in writing.other_commands(ended.delivered.event_id):
        settled = DeadLetterResolved(
            dead_event_id=former_id, replay_event_id=ended.delivered.event_id, queue=COMMANDS_QUEUE
        )
        tx.send(settled, caused_by=ended.message)


def log_too_late(message: Message) -> None:
    """Logs that a redelivery or replay came after the deletion of the article or the erasure of its brand."""
    _log.info(
        "message_comes_too_late",
        content_id=str(message.payload.content_id),
        event_id=str(message.event_id),
    )


async def _refuse(tx: Transaction, ended: WritingOutcome, refusal: NoArticleError) -> None:
    command = ended.command
    if command.revision is None:
        tx.send(ended.refused(refusal.reason, str(refusal)), caused_by=ended.message)
        return
    # The returned draft waits again, since its rewrite failed.
    why = f"it could not be written again ({refusal.reason}: {refusal})"[:MAX_DETAIL]
    if await return_to_review(tx.connection, command.content_id, command.revision, why):
        tx.send(ended.refused(NEEDS_REVIEW, why), caused_by=ended.message)


class _ArticleBatch:
    """Stores the articles of one transaction one by one; `finish` inserts all new ones at once."""

    def __init__(
        self,
        tx: Transaction,
        brands: Mapping[str, BrandRow],
        late: Mapping[str, Sequence[SiblingArticle]],
        histories: Mapping[tuple[str, SubjectKey], SubjectHistory],
        keys: Mapping[UUID, tuple[SubjectKey, bool]],
        judges: PassedJudges,
        held_by_request: frozenset[UUID],
    ) -> None:
        self._tx = tx
        self._brands = brands
        """The brands' present settings: approval rules may have changed while the articles were written."""
        self._late = {slug: list(others) for slug, others in late.items()}
        """By brand, stored articles that not all of the new ones were compared with."""
        self._histories = dict(histories)
        self._keys = keys
        self._judges = judges
        self._held_by_request = held_by_request
        self._new: dict[UUID, NewContent] = {}

    @classmethod
    async def begin(cls, tx: Transaction, written: Sequence[tuple[WritingOutcome, FinishedArticle]]) -> Self:
        """Locks storing, then reads the brands, articles, subjects, histories and exams that these articles need."""
        if not written:
            return cls(tx, {}, {}, {}, {}, frozenset(), frozenset())
        await lock_storing(tx.connection)
        brands = await find_brands(tx.connection, {each.command.brand_slug for each, _ in written})
        compared: dict[str, frozenset[UUID]] = {}
        for each, result in written:
            slug = each.command.brand_slug
            compared[slug] = compared.get(slug, result.judged.compared) & result.judged.compared
        late = await load_siblings(tx.connection, compared, but=frozenset[UUID]().union(*compared.values()))
        keys = await name_contents(
            tx.connection,
            [
                KeywordOfContent(
                    each.command.brand_slug,
                    each.command.content_id,
                    each.command.keyword,
                    each.brand.language,
                )
                for each, _ in written
            ],
        )
        histories = await load_subject_histories(
            tx.connection, [(each.brand.slug, keys[each.command.content_id][0]) for each, _ in written]
        )
        judges = await load_passed_judges(
            tx.connection, [result.judged.article.draft for _, result in written]
        )
        held_by_request = await load_held_by_request(
            tx.connection, [each.command.content_id for each, _ in written]
        )
        return cls(tx, brands, late, histories, keys, judges, held_by_request)

    async def store(self, ended: WritingOutcome, written: FinishedArticle) -> None:
        command, slug = ended.command, ended.command.brand_slug
        brand = self._brands.get(slug, ended.brand)
        own = {command.content_id, command.renews, *written.judged.compared}
        since = [each for each in self._late[slug] if each.content_id not in own]
        judged = (
            await compare_with_newcomers(written.judged, since, self._bodies) if since else written.judged
        )
        named = slug, self._keys[command.content_id][0]
        held_for = (
            *judged.held_for,
            *approval_reasons(
                brand,
                self._histories[named],
                is_held_by_request=command.content_id in self._held_by_request,
            ),
            *judge_reasons(judged.article.draft, self._judges),
        )
        if command.revision is not None:
            await _store_rewrite(self._tx, ended, judged, written.sources, held_for)
        elif command.renews is not None:
            await _store_renewal(
                self._tx, ended, command.renews, judged, written.sources, held_for, brand.target
            )
        elif (standing_id := judged.standing_id) is not None:
            (why,) = judged.held_for
            self._tx.send(ended.refused(NEAR_DUPLICATE, why, standing_id), caused_by=ended.message)
            ended.log.info(
                "article_says_the_same",
                brand=command.brand_slug,
                keyword=command.keyword,
                content_id=str(command.content_id),
                standing=str(standing_id),
            )
        else:
            self._store_new(ended, judged, written.sources, held_for, named)

    def _store_new(
        self,
        ended: WritingOutcome,
        judged: JudgedArticle,
        sources: Sequence[ArticleSource],
        held_for: Sequence[str],
        named: tuple[str, SubjectKey],
    ) -> None:
        command, article = ended.command, judged.article
        self._new[command.content_id] = NewContent(
            content_id=command.content_id,
            brand_slug=command.brand_slug,
            keyword=command.keyword,
            research_id=command.research_id,
            article=article,
            sources=sources,
            measures=judged.measures,
            held_for=held_for,
            fingerprint=judged.fingerprint,
            # A subject key found to be distinct is noted together with its row by the next reader.
            subject_key=None if self._keys[command.content_id][1] else named[1],
        )
        if held_for:
            announcement: ContentRefused | ContentGenerated = ended.refused(NEEDS_REVIEW, "; ".join(held_for))
        else:
            announcement = ContentGenerated(
                brand_slug=command.brand_slug,
                content_id=command.content_id,
                keyword=command.keyword,
                word_count=article.word_count,
            )
            # Later articles of this transaction must see it as stored.
            self._late[command.brand_slug].append(
                SiblingArticle(
                    command.content_id, 1, command.keyword, article.title, None, judged.fingerprint
                )
            )
            self._histories[named] = replace(self._histories[named], has_article=True)
        self._tx.send(announcement, caused_by=ended.message)
        ended.log.info(
            "article_held" if held_for else "article_written",
            brand=command.brand_slug,
            keyword=command.keyword,
            content_id=str(command.content_id),
            **({"reasons": held_for} if held_for else {}),
            measures={each.name: each.value for each in judged.measures},
        )

    async def _bodies(self, content_ids: Sequence[UUID]) -> Mapping[UUID, str]:
        """Returns the Markdown of these articles, including those not inserted yet."""
        new = {each: self._new[each].article.body_markdown for each in content_ids if each in self._new}
        stored = [each for each in content_ids if each not in new]
        return new | (await load_bodies(self._tx.connection, stored) if stored else {})

    async def finish(self) -> None:
        if self._new:
            await insert_contents(self._tx.connection, list(self._new.values()))


async def _store_rewrite(
    tx: Transaction,
    ended: WritingOutcome,
    judged: JudgedArticle,
    sources: Sequence[ArticleSource],
    held_for: Sequence[str],
) -> None:
    """Stores a rewritten draft for review, unless a person decided about it meanwhile."""
    command = ended.command
    reasons = (f"it was written again: {command.comment}", *held_for)
    stored = await store_rewrite(
        tx.connection,
        command.content_id,
        text_of(judged.article, sources, judged.measures),
        revision=command.revision or 1,
        why=f"written again: {command.comment}",
        held_for=reasons,
        fingerprint=judged.fingerprint,
    )
    if stored:
        tx.send(ended.refused(NEEDS_REVIEW, "; ".join(reasons)), caused_by=ended.message)
    ended.log.info(
        "article_written_again",
        brand=command.brand_slug,
        keyword=command.keyword,
        content_id=str(command.content_id),
        stored=stored,
    )


async def _store_renewal(
    tx: Transaction,
    ended: WritingOutcome,
    content_id: UUID,
    judged: JudgedArticle,
    sources: Sequence[ArticleSource],
    waits_for: Sequence[str],
    target: str,
) -> None:
    """Stores the text as a new version of the article it renews, and republishes it at its address without new posts."""
    renewed = await store_renewal(
        tx.connection,
        content_id,
        text_of(judged.article, sources, judged.measures),
        why="written anew",
        waits_for=waits_for,
        fingerprint=judged.fingerprint,
    )
    if renewed is None:
        why = f"its article is not published any more (/v1/drafts/{content_id}), so that nothing was stored"
        tx.send(ended.refused(NOT_RENEWED, why), caused_by=ended.message)
        return
    written = f"its article was written anew, as version {renewed.version}"
    if renewed.waits_for:
        reasons = "; ".join(renewed.waits_for)
        why = f"{written}, which waits to be approved (/v1/drafts/{content_id}): {reasons}"
    else:
        why = f"{written} ({renewed.published_url})"
        await set_home(tx, content_id, target)
        tx.send(
            ContentPublish(brand_slug=ended.command.brand_slug, content_id=content_id, target=target),
            caused_by=ended.message,
        )
    tx.send(ended.refused(RENEWED, why, content_id), caused_by=ended.message)
    ended.log.info(
        "article_renewed",
        brand=ended.command.brand_slug,
        keyword=ended.command.keyword,
        content_id=str(content_id),
        version=renewed.version,
    )
