"""The commands that other systems may send. Each does what one route of the API does, and needs the scope of that route."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from chassis.http.callers import Caller, Scope
from envelope.brand.payloads import BrandSlug
from messaging import Database, Transaction
from orchestrator.audits import audit_in
from orchestrator.brands import BrandSlug as CheckedSlug
from orchestrator.cycles import (
    KEYWORDS_IN_ONE_TRACE,
    BrandLimits,
    ResearchRequest,
    begin_cycle_in,
    requested_cycle,
)
from orchestrator.requests import RequestBody
from orchestrator.review import ApproveDraftBody, decide_in, get_draft, prepare_version
from review.decisions import Decision, DecisionKind


class StartCycle(ResearchRequest):
    """`cycle.start`: turns keywords into articles, as `POST /v1/brands/{slug}/research`."""

    brand_slug: BrandSlug


class AuditBrand(RequestBody):
    """`brand.audit`: audits a brand, as `POST /v1/brands/{slug}/audits`."""

    brand_slug: BrandSlug


class PublishContent(ApproveDraftBody):
    """`content.publish`: approves a version of an article, as `POST /v1/drafts/{content_id}/approve`."""

    brand_slug: BrandSlug
    content_id: UUID


Perform: TypeAlias = Callable[[Transaction], Awaitable[str]]
"""Does what a command asks for, in the given transaction; returns the path of what it made or changed."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    database: Database
    limits: BrandLimits
    caller: Caller
    """Bound to the brand of the command."""
    brand: CheckedSlug


async def _start_cycle(context: CommandContext, data: StartCycle) -> Perform:
    wanted = requested_cycle(context.brand, data, by=context.caller.name)
    together = len(wanted.keywords) <= KEYWORDS_IN_ONE_TRACE

    async def perform(tx: Transaction) -> str:
        cycle = await begin_cycle_in(tx, wanted, context.limits, together=together)
        return f"/v1/cycles/{cycle.cycle_id}"

    return perform


async def _audit_brand(context: CommandContext, _: AuditBrand) -> Perform:
    async def perform(tx: Transaction) -> str:
        audit, _ = await audit_in(tx, context.brand, context.limits, by=context.caller.name)
        return f"/v1/brands/{context.brand}/audits/{audit.audit_id}"

    return perform


async def _publish_content(context: CommandContext, data: PublishContent) -> Perform:
    kind = DecisionKind.APPROVE if data.publish_at is None else DecisionKind.SCHEDULE
    given = data.model_dump(exclude={"brand_slug", "content_id"})
    decision = Decision(kind, context.caller.name, **given)
    await get_draft(context.database, data.content_id, context.caller.brands)
    # Slow, so not in the transaction.
    prepared = None
    if kind is DecisionKind.APPROVE:
        prepared = await prepare_version(context.database, data.content_id, data.version)

    async def perform(tx: Transaction) -> str:
        await decide_in(tx, data.content_id, decision, context.caller, context.limits, prepared)
        return f"/v1/drafts/{data.content_id}"

    return perform


@dataclass(frozen=True, slots=True)
class CommandType:
    scope: Scope
    """Scope of the route that does the same."""
    data: type[StartCycle] | type[AuditBrand] | type[PublishContent]
    prepare: Callable[[CommandContext, Any], Awaitable[Perform]]
    """Takes an instance of `data`."""


COMMANDS: Final[Mapping[str, CommandType]] = {
    "cycle.start": CommandType(Scope.SUBMIT, StartCycle, _start_cycle),
    "brand.audit": CommandType(Scope.SUBMIT, AuditBrand, _audit_brand),
    "content.publish": CommandType(Scope.REVIEW, PublishContent, _publish_content),
}
