"""Deletes articles: their texts here and at the publisher. A record of the deletion stays.

A deletion is final. Its messages are in the same transaction; a repeated request finds the record and changes nothing.
"""

from collections.abc import Sequence
from uuid import UUID, uuid5

import structlog

from chassis import Connection
from chassis.http.callers import Caller
from envelope.brand.payloads import ContentDelete
from messaging import Database
from orchestrator.cycles import BrandLimits
from orchestrator.placements import withdraw
from orchestrator.removal import DeletedArticle, find_deleted, insert_deleted
from orchestrator.review import store
from orchestrator.review.deciding import UnknownDraftError, note_review_and_dispatch, refuse_keyword
from orchestrator.review.domain import ReviewedDraft
from orchestrator.review.publishing import correlation_of
from review.rules import DraftState

log = structlog.get_logger(__name__)


async def delete(
    database: Database, content_id: UUID, caller: Caller, limits: BrandLimits, *, reason: str
) -> DeletedArticle:
    """Deletes an article in any state; its page answers 410 for good, and no other article gets its address.

    Raises:
        UnknownDraftError: there is no such article, and none was deleted.
    """
    async with database.transaction() as tx:
        draft = await store.lock_draft(tx.connection, content_id)
        if draft is None:
            gone = await find_deleted(tx.connection, content_id, caller.brands)
            if gone is None:
                raise UnknownDraftError(content_id)
            return gone
        if not caller.may_see(draft.brand_slug):
            raise UnknownDraftError(content_id)
        correlation_id = await correlation_of(tx, draft)
        gone = await insert_deleted(
            tx.connection,
            content_id,
            draft.brand_slug,
            address=draft.address.removesuffix(f"-{content_id}"),
            published_url=draft.published_url,
            by=caller.name,
            reason=reason,
        )
        # While it is known where it is.
        await withdraw(tx, content_id, deleting=True)
        if not draft.is_approved and draft.state not in {DraftState.REJECTED, DraftState.TAKEN_DOWN}:
            await refuse_keyword(tx, draft, f"{caller.name} deleted it: {reason}")
        await _forget(tx.connection, draft)
        tx.send(
            ContentDelete(brand_slug=draft.brand_slug, content_id=content_id), correlation_id=correlation_id
        )
        await note_review_and_dispatch(tx, limits, draft)
    log.info("article_deleted", content_id=str(content_id), brand=gone.brand_slug, by=caller.name)
    return gone


async def _forget(connection: Connection, draft: ReviewedDraft) -> None:
    """Deletes the article's text, versions, decisions and workflow steps; its address stays taken."""
    content_id = draft.content_id
    await connection.execute(
        """
        insert into former_addresses (brand_slug, slug, content_id)
        select brand_slug, slug, content_id from content where content_id = $1 and published_url is not null
        on conflict do nothing
        """,
        content_id,
    )
    # Its versions, decisions and links go with it.
    await connection.execute("delete from content where content_id = $1", content_id)
    await _forget_writing(connection, content_id, revisions=range(2, draft.version + 2))


async def _forget_writing(connection: Connection, content_id: UUID, revisions: Sequence[int]) -> None:
    """Deletes its workflow steps, with the research they read. Steps of attempts before the last are left to the clean-up."""
    known = await connection.fetch(
        "delete from writings where content_id = $1 returning event_id, steps_id", content_id
    )
    commands = await connection.fetch("select command_id from keywords where content_id = $1", content_id)
    workflows = {
        content_id,
        *(uuid5(content_id, f"revision {revision}") for revision in revisions),
        *(each[name] for each in known for name in ("event_id", "steps_id")),
        *(each["command_id"] for each in commands if each["command_id"] is not None),
    }
    await connection.execute("delete from writing_waits where content_id = $1", content_id)
    await connection.execute(
        "delete from workflow_steps where workflow_id = any ($1::uuid[])", list(workflows)
    )
    digests = await connection.fetch(
        "delete from large_results where workflow_id = any ($1::uuid[]) returning digest", list(workflows)
    )
    # Research that another article uses, too, stays.
    await connection.execute(
        """
        delete from blobs where digest in (
            select digest from blobs as b
            where digest = any ($1::bytea[]) and not exists (select from large_results as r where r.digest = b.digest)
            for update skip locked)
        """,
        [each["digest"] for each in digests],
    )
