"""Pauses, resumes and cancels: unsent work is held back; running work finishes and counts.

A repeated request changes nothing.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from envelope import ChainLimits
from envelope.brand.payloads import Priority
from messaging import Database, Transaction
from orchestrator import problem_codes as codes
from orchestrator.brands import BrandRow, UnknownBrandError, find_brand
from orchestrator.cycles import domain, keyword_rows, store
from orchestrator.cycles.dispatch import BrandLimits, dispatch_waiting
from orchestrator.cycles.domain import CANCELLED
from orchestrator.cycles.facts import Stage, StageCommand
from orchestrator.cycles.finished_work import await_repeated
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.cycles.store import Cycle
from orchestrator.ended_keywords import EndedKeyword, log_ended_keywords
from orchestrator.integration_events import announce_ended_cycles
from orchestrator.moving import check_may_resume

Brands: TypeAlias = Collection[str] | None
"""Brands that the caller may see; None: all."""


async def pause_cycle(database: Database, cycle_id: UUID, brands: Brands) -> Cycle | None:
    """Sends no more of the cycle's keywords until it is resumed. None if there is no such cycle."""
    async with database.transaction() as tx:
        if await _locked(tx, cycle_id, brands) is None:
            return None
        await tx.connection.execute(
            "update cycles set paused_at = coalesce(paused_at, now())"
            " where cycle_id = $1 and ended_at is null and cancelled_at is null",
            cycle_id,
        )
        return await store.find_cycle(tx.connection, cycle_id)


async def resume_cycle(
    database: Database, cycle_id: UUID, brands: Brands, limits: BrandLimits
) -> Cycle | None:
    """Resumes a cycle, within its brand's limits. None if there is no such cycle."""
    async with database.transaction() as tx:
        if (cycle := await _locked(tx, cycle_id, brands)) is None:
            return None
        await tx.connection.execute("update cycles set paused_at = null where cycle_id = $1", cycle_id)
        await _dispatch_waiting(tx, cycle.brand_slug, limits)
        return await store.find_cycle(tx.connection, cycle_id)


async def cancel_cycle(
    database: Database, cycle_id: UUID, brands: Brands, limits: BrandLimits
) -> Cycle | None:
    """Cancels the cycle's unsent keywords for good. None if there is no such cycle.

    Keywords at research end with its answer; articles that are written, published or promoted continue.
    """
    async with database.transaction() as tx:
        if (cycle := await _locked(tx, cycle_id, brands)) is None:
            return None
        if await _cancel(tx.connection, cycle_id):
            await _dispatch_waiting(tx, cycle.brand_slug, limits)
            await announce_ended_cycles(tx, [cycle.brand_slug])
        return await store.find_cycle(tx.connection, cycle_id)


async def set_priority(
    database: Database, cycle_id: UUID, position: int, priority: Priority, brands: Brands
) -> KeywordRow:
    """Sets the priority of a keyword that waits for its turn.

    Raises:
        RefusalError: there is no such keyword, or its turn has come.
    """
    async with database.transaction() as tx:
        cycle = await _locked(tx, cycle_id, brands)
        found = await keyword_rows.find_keyword(tx.connection, cycle_id, position) if cycle else None
        if found is None:
            raise RefusalError(
                codes.UNKNOWN_KEYWORD,
                f"there is no keyword {position} in a cycle {cycle_id}; GET /v1/keywords lists those that are kept",
            )
        if found.priority is priority:
            return found
        waits = await tx.connection.fetchval(
            "update keywords set rank = $3 where cycle_id = $1 and position = $2 and awaits_turn returning true",
            cycle_id,
            position,
            store.RANKS.index(priority),
        )
        if not waits:
            raise RefusalError(
                codes.KEYWORD_HAS_ITS_TURN,
                f"'{found.keyword}' is {found.facts.state.replace('_', ' ')}, and its turn has come, so its priority counts no more",
            )
        return replace(found, priority=priority)


async def pause_brand(database: Database, slug: str) -> BrandRow:
    """Sends no more of the brand's keywords until it is resumed; new ones are accepted, and wait.

    Raises:
        UnknownBrandError: there is no such brand.
    """
    async with database.transaction() as tx:
        await store.lock_brand(tx.connection, slug)
        await tx.connection.execute(
            "update brands set paused_at = coalesce(paused_at, now()) where slug = $1", slug
        )
        return await _brand(tx, slug)


async def resume_brand(database: Database, slug: str, limits: BrandLimits) -> BrandRow:
    """Resumes a brand, and sends waiting keywords within its limits.

    Raises:
        UnknownBrandError: there is no such brand.
    """
    async with database.transaction() as tx:
        now = await store.lock_brand(tx.connection, slug)
        await check_may_resume(tx.connection, slug)
        await tx.connection.execute("update brands set paused_at = null where slug = $1", slug)
        brand = await _brand(tx, slug)
        await dispatch_waiting(tx, [slug], limits, now=now)
        return brand


async def write_again(tx: Transaction, row: KeywordRow, *, now: datetime) -> UUID:
    """Sends a keyword's article to the writers again; returns the new command's id. The brand's lock must be held."""
    decision = domain.write_again(row.facts, row.keyword, now=now)
    # A person asks for it, so it may be late.
    limits = ChainLimits(None if (at := row.limits.deadline) and at <= now else at, row.limits.max_cost)
    (event_id,) = [
        tx.send(each, correlation_id=row.correlation_id, limits=limits) for each in decision.messages
    ]
    for payload in decision.messages:
        await await_repeated(tx.connection, payload, row.correlation_id)
    command = StageCommand(Stage.WRITING, event_id)
    await keyword_rows.save_keywords(tx.connection, [replace(row, facts=decision.keyword, command=command)])
    return event_id


async def cancel_writing(
    tx: Transaction, row: KeywordRow, limits: BrandLimits, *, by: str, now: datetime
) -> None:
    """Cancels a keyword before its article is written, and dispatches another one. The brand's lock must be held."""
    facts = domain.cancel_writing(row.facts, by=by, now=now)
    ended = replace(row, facts=facts)
    await keyword_rows.save_keywords(tx.connection, [ended])
    if not row.facts.has_ended:
        await log_ended_keywords([ended.as_ended])
    await dispatch_waiting(tx, [row.facts.brand_slug], limits, now=now)
    await announce_ended_cycles(tx, [row.facts.brand_slug])


async def _cancel(connection: Connection, cycle_id: UUID) -> bool:
    """Cancels unsent keywords, with the facts that `domain.decide` sets for `StepTurn.NEVER`; False if there were none."""
    cancelled = await connection.fetchval(
        """
        update cycles set cancelled_at = now(), paused_at = null
        where cycle_id = $1 and ended_at is null and cancelled_at is null
        returning true
        """,
        cycle_id,
    )
    if not cancelled:
        return False
    rows = await connection.fetch(
        """
        update keywords as k
        set cancelled = true, awaits_turn = false, follows = false, state = 'cancelled', reason = $2, moved_at = clock_timestamp(),
            setbacks = setbacks || jsonb_build_object(
                case state when 'queued' then 'research' else 'writing' end,
                jsonb_build_object('reason', $2::text, 'refused', true))
        from cycles as c
        where k.cycle_id = $1 and c.cycle_id = k.cycle_id and (awaits_turn or follows) and state in ('queued', 'writing')
        returning c.brand_slug, k.keyword, k.cycle_id, c.correlation_id, k.content_id, k.state, k.reason, k.published_url
        """,
        cycle_id,
        CANCELLED.reason,
    )
    await log_ended_keywords(EndedKeyword(*row) for row in rows)
    return True


async def _locked(tx: Transaction, cycle_id: UUID, brands: Brands) -> Cycle | None:
    cycle = await store.find_cycle(tx.connection, cycle_id, brands)
    if cycle is not None:
        await store.lock_brand(tx.connection, cycle.brand_slug)
    return cycle


async def _dispatch_waiting(tx: Transaction, slug: str, limits: BrandLimits) -> None:
    await dispatch_waiting(tx, [slug], limits, now=await store.lock_brand(tx.connection, slug))


async def _brand(tx: Transaction, slug: str) -> BrandRow:
    brand = await find_brand(tx.connection, slug)
    if brand is None:
        raise UnknownBrandError(slug)
    return brand
