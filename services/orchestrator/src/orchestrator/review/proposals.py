"""Proposals: edits and publications by callers who may not decide, such as assistants. A person accepts or dismisses each.

Accepting carries out the edit or the approval in the name of the person, by the same rules as without a proposal.
"""

import asyncio
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID, uuid5

import structlog

from chassis import Connection
from chassis.http.callers import Caller
from chassis.http.problem_codes import RefusalError
from envelope.brand.article import ArticleEdit
from messaging import Database, Transaction
from orchestrator import problem_codes as codes
from orchestrator.article_workflow import find_version
from orchestrator.cycles import BrandLimits
from orchestrator.review import deciding, store
from orchestrator.review.differences import difference, document
from orchestrator.review.domain import ReviewedDraft
from orchestrator.review.editing import changed_text, is_same_text
from orchestrator.review.models import EditDraftBody
from review.decisions import MAX_COMMENT, Decision, DecisionKind

log = structlog.get_logger(__name__)

MOST_OPEN: Final = 20
"""Of one article."""
MOST_SHOWN: Final = 100
"""Of one article: the open ones, and the latest of the others."""


class ProposalOutcome(StrEnum):
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class NewProposal:
    """What somebody proposes."""

    version: int
    comment: str
    change: ArticleEdit | None
    """None: to publish the version."""
    publish_at: datetime | None = None

    def id_of(self, content_id: UUID, by: str) -> UUID:
        """The same proposal by the same caller has the same id, so that it is stored once."""
        change = None if self.change is None else self.change.model_dump(mode="json", exclude_none=True)
        at = None if self.publish_at is None else self.publish_at.isoformat()
        return uuid5(content_id, json.dumps([by, self.version, self.comment, change, at], sort_keys=True))

    @property
    def kind(self) -> DecisionKind:
        """The decision that accepting it takes."""
        if self.change is not None:
            return DecisionKind.EDIT
        return DecisionKind.APPROVE if self.publish_at is None else DecisionKind.SCHEDULE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stored proposal."""

    id: UUID
    content_id: UUID
    brand_slug: str
    title: str
    """Of the article."""
    version: int
    newest: int
    """The article's newest version."""
    proposed_by: str
    proposed_at: datetime
    comment: str
    change: dict[str, Any] | None
    diff: str
    publish_at: datetime | None
    outcome: ProposalOutcome | None
    decided_by: str | None
    decided_at: datetime | None
    reason: str

    @property
    def is_outdated(self) -> bool:
        """Whether it is open, and was made for a version that is no longer the newest."""
        return self.outcome is None and self.version != self.newest

    @classmethod
    def of(cls, row: Any) -> Self:
        change = row["change"]
        outcome = row["outcome"]
        return cls(
            **{name: row[name] for name in cls.__slots__ if name not in {"change", "outcome"}},
            change=None if change is None else json.loads(change),
            outcome=None if outcome is None else ProposalOutcome(outcome),
        )


class UnknownProposalError(RefusalError):
    """The article has no such proposal."""

    def __init__(self, proposal_id: UUID) -> None:
        super().__init__(codes.UNKNOWN_PROPOSAL, f"the article has no proposal {proposal_id}")


async def propose(database: Database, content_id: UUID, caller: Caller, proposal: NewProposal) -> Proposal:
    """Stores a proposal; a repeated one changes nothing, and returns what became of the first.

    Raises:
        UnknownDraftError, DeletedArticleError: as for `deciding.get_draft`.
        RefusalError: a person could not accept it, or the article has as many open proposals as it may have.
    """
    await deciding.get_draft(database, content_id, caller.brands)
    number = proposal.id_of(content_id, caller.name)
    async with database.connection() as connection:
        if (known := await find(connection, content_id, number)) is not None:
            return known
        based_on = await find_version(connection, content_id, proposal.version)
        now: datetime = await connection.fetchval("select clock_timestamp()")
    diff = ""
    if proposal.change is not None and based_on is not None:
        change = proposal.change
        text = await asyncio.to_thread(changed_text, based_on.text, change, by=caller.name, at=now)
        if is_same_text(text, based_on.text):
            raise RefusalError(codes.UNUSABLE_TEXT, "this changes nothing in the article")
        found = await asyncio.to_thread(
            difference,
            document(based_on.text),
            document(text),
            called=(f"version {proposal.version}", "proposal"),
        )
        diff = found.text
    async with database.transaction() as tx:
        draft = deciding.seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        # By the rules of the decision itself, so that what a person sees can be accepted.
        await deciding.outcome_of(tx, draft, _decision(proposal, by=caller.name))
        await _demand_room(tx.connection, content_id)
        await tx.connection.execute(
            """
            insert into draft_proposals (id, content_id, version, proposed_by, comment, change, diff, publish_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing
            """,
            number,
            content_id,
            proposal.version,
            caller.name,
            proposal.comment,
            None if proposal.change is None else proposal.change.model_dump_json(exclude_none=True),
            diff,
            proposal.publish_at,
        )
        stored = await find(tx.connection, content_id, number)
    assert stored is not None
    log.info("change_proposed", content_id=str(content_id), brand=draft.brand_slug, by=caller.name)
    return stored


async def accept(
    database: Database,
    content_id: UUID,
    proposal_id: UUID,
    caller: Caller,
    limits: BrandLimits,
    *,
    has_judge: bool,
) -> ReviewedDraft:
    """Carries out a proposal in the name of the caller; a repeated request changes nothing.

    Raises:
        UnknownDraftError, DeletedArticleError, RefusalError: as for `deciding.edit` and `deciding.decide`, or the proposal is
            unknown, or was dismissed.
    """
    draft = await deciding.get_draft(database, content_id, caller.brands)
    proposal = await _found(database, content_id, proposal_id)
    if proposal.outcome is ProposalOutcome.ACCEPTED:
        return draft
    _demand_open(proposal)

    async def mark(tx: Transaction) -> None:
        # With the effect or not at all: neither a kill nor somebody who dismisses it comes between.
        await _decide(tx, proposal, ProposalOutcome.ACCEPTED, caller, "")

    if proposal.change is not None:
        why = f"proposed by {proposal.proposed_by}: {proposal.comment}"[:MAX_COMMENT]
        edit = EditDraftBody.model_validate({**proposal.change, "version": proposal.version, "comment": why})
        return await deciding.edit(database, content_id, caller, limits, edit, has_judge=has_judge, also=mark)
    wanted = NewProposal(proposal.version, proposal.comment, None, proposal.publish_at)
    prepared = await deciding.prepare_version(database, content_id, proposal.version)
    async with database.transaction() as tx:
        decision = _decision(wanted, by=caller.name)
        draft = await deciding.decide_in(tx, content_id, decision, caller, limits, prepared)
        await mark(tx)
        return draft


async def dismiss(
    database: Database, content_id: UUID, proposal_id: UUID, caller: Caller, reason: str
) -> Proposal:
    """Closes a proposal without an effect; a repeated request changes nothing.

    Raises:
        UnknownDraftError, DeletedArticleError: as for `deciding.get_draft`.
        RefusalError: the proposal is unknown, or was accepted.
    """
    await deciding.get_draft(database, content_id, caller.brands)
    proposal = await _found(database, content_id, proposal_id)
    if proposal.outcome is ProposalOutcome.DISMISSED:
        return proposal
    _demand_open(proposal)
    async with database.transaction() as tx:
        return await _decide(tx, proposal, ProposalOutcome.DISMISSED, caller, reason)


async def _decide(
    tx: Transaction, proposal: Proposal, outcome: ProposalOutcome, caller: Caller, reason: str
) -> Proposal:
    await tx.connection.execute(
        """
        update draft_proposals set outcome = $2, decided_by = $3, decided_at = clock_timestamp(), reason = $4
        where id = $1 and outcome is null
        """,
        proposal.id,
        outcome.value,
        caller.name,
        reason,
    )
    after = await find(tx.connection, proposal.content_id, proposal.id)
    if after is None:
        raise UnknownProposalError(proposal.id)
    if after.outcome is not outcome:
        # Somebody else was faster.
        _demand_open(after)
    return after


def _decision(proposal: NewProposal, *, by: str) -> Decision:
    if proposal.kind is DecisionKind.EDIT:
        return Decision(proposal.kind, by, proposal.version, proposal.comment)
    return Decision(proposal.kind, by, proposal.version, publish_at=proposal.publish_at)


def _demand_open(proposal: Proposal) -> None:
    if proposal.outcome is not None:
        raise RefusalError(
            codes.DECIDED_OTHERWISE, f"{proposal.decided_by} has {proposal.outcome} this proposal already"
        )


async def _demand_room(connection: Connection, content_id: UUID) -> None:
    count = await connection.fetchval(
        "select count(*) from draft_proposals where content_id = $1 and outcome is null", content_id
    )
    if count >= MOST_OPEN:
        raise RefusalError(
            codes.TOO_MANY_PROPOSALS,
            f"the article has {count} open proposals, as many as it may have; a person decides about them first",
        )


async def _found(database: Database, content_id: UUID, proposal_id: UUID) -> Proposal:
    async with database.connection() as connection:
        proposal = await find(connection, content_id, proposal_id)
    if proposal is None:
        raise UnknownProposalError(proposal_id)
    return proposal


# -- SQL ---------------------------------------------------------------------------------------------------------------

_PROPOSALS: Final = """
    select p.id, p.content_id, c.brand_slug, n.title, p.version, n.version as newest, p.proposed_by, p.proposed_at, p.comment,
           p.change, p.diff, p.publish_at, p.outcome, p.decided_by, p.decided_at, p.reason
    from draft_proposals as p
        join content as c using (content_id)
        join lateral (
            select version, title from content_versions as v where v.content_id = c.content_id order by version desc limit 1
        ) as n on true
    where
"""


async def find(connection: Connection, content_id: UUID, proposal_id: UUID) -> Proposal | None:
    row = await connection.fetchrow(f"{_PROPOSALS} p.content_id = $1 and p.id = $2", content_id, proposal_id)
    return None if row is None else Proposal.of(row)


async def of_article(connection: Connection, content_id: UUID) -> list[Proposal]:
    """Returns the open proposals of an article, then the latest others; up to MOST_SHOWN."""
    rows = await connection.fetch(
        f"{_PROPOSALS} p.content_id = $1 order by p.outcome is not null, p.proposed_at desc limit $2",
        content_id,
        MOST_SHOWN,
    )
    return [Proposal.of(row) for row in rows]


async def open_ones(
    connection: Connection, brands: Collection[str] | None, *, after: UUID | None, limit: int
) -> list[Proposal]:
    """Returns a page of the open proposals of these brands; None: of all."""
    rows = await connection.fetch(
        f"""{_PROPOSALS} p.outcome is null and ($1::text[] is null or c.brand_slug = any ($1))
        and ($2::uuid is null or p.id > $2) order by p.id limit $3""",
        None if brands is None else list(brands),
        after,
        limit,
    )
    return [Proposal.of(row) for row in rows]
