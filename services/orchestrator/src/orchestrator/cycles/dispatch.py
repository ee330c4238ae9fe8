"""Dispatches waiting keywords to research and to the writers, brand by brand.

A brand has a limited number of keywords under way; the others are stored as waiting (`awaits_turn`). So no brand blocks
others in a queue, urgent keywords overtake others, and unsent ones can still be held back.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from messaging import Database, Transaction
from orchestrator.article_workflow import RETURNED_DRAFTS, UNREVIEWED_DRAFTS
from orchestrator.brands import ApprovalPolicy, approval_of
from orchestrator.cycles.domain import BRAND_ARTICLES, BRAND_RESEARCH, take_turn
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows, stored_trace
from orchestrator.cycles.store import MAY_STEP
from orchestrator.integration_events import announce_ended_cycles
from orchestrator.subjects import Candidate, claim_subjects, settle_followers


@dataclass(frozen=True, slots=True)
class BrandLimits:
    """How much work of one brand may be under way at a time."""

    research: int = BRAND_RESEARCH
    """Keywords at research, or researched and waiting for a writer."""
    articles: int = BRAND_ARTICLES
    """Articles being written or queued for a writer."""


DEFAULT_LIMITS: Final = BrandLimits()
_MOST_ROUNDS: Final = 20
_AT_ONCE: Final = 500
"""Rounds and keywords per round in which unsent keywords are skipped, as their subject has an article or is under way."""


@dataclass(frozen=True, slots=True)
class BrandLoad:
    """A brand's work under way, and its waiting keywords."""

    researching: int
    writing: int
    awaiting_research: int
    awaiting_writing: int
    following: int = 0
    """Keywords that wait for another one on their subject."""
    waiting: int = 0
    """Keywords at research that wait for a budget or an unreachable provider, with a known end."""
    drafts_left: int | None = None
    """How many more drafts may wait for review, those being written included; None if not every article is reviewed."""

    def room_for_articles(self, limits: BrandLimits) -> int:
        most = limits.articles if self.drafts_left is None else min(limits.articles, self.drafts_left)
        return max(most - self.writing, 0)

    def room_for_research(self, limits: BrandLimits, *, articles: int = 0) -> int:
        """Free capacity for research, after `articles` were sent to the writers.

        Keywords that wait for a budget leave capacity to those that the corpus may answer, so at most twice the limit is at research.
        """
        busy = self.researching - min(self.waiting, limits.research)
        return max(limits.research - busy - (self.awaiting_writing - articles), 0)


NO_LOAD: Final = BrandLoad(0, 0, 0, 0)


async def brand_loads(connection: Connection, slugs: Sequence[str]) -> dict[str, BrandLoad]:
    """The work of brands under way and waiting. Paused and held-up keywords are left out."""
    rows = await connection.fetch(
        f"""
        select b.slug, b.approval, b.writer, b.target, b.further_targets,
               (b.max_unreviewed_drafts - {UNREVIEWED_DRAFTS} - {RETURNED_DRAFTS})::int as drafts_left,
               coalesce(sum(c.queued - c.awaiting_research - c.following), 0)::int as researching,
               coalesce(sum(c.writing - c.awaiting_writing), 0)::int as writing,
               coalesce(sum(c.awaiting_research) filter (where {MAY_STEP}), 0)::int as awaiting_research,
               coalesce(sum(c.awaiting_writing) filter (where {MAY_STEP}), 0)::int as awaiting_writing,
               coalesce(sum(c.following), 0)::int as following,
               (select count(*) from cycles as w join research_waits as r using (cycle_id) join keywords as k using (cycle_id, position)
                where w.brand_slug = b.slug and w.ended_at is null and k.state = 'queued' and r.until > now())::int as waiting
        from brands as b left join cycles as c on c.brand_slug = b.slug and c.ended_at is null
        where b.slug = any ($1::text[])
        group by b.slug
        """,  # noqa: S608  (constants of these modules)
        list(slugs),
    )
    return {
        row["slug"]: BrandLoad(
            row["researching"],
            row["writing"],
            row["awaiting_research"],
            row["awaiting_writing"],
            row["following"],
            row["waiting"],
            row["drafts_left"] if _every_article_waits(row) else None,
        )
        for row in rows
    }


def _every_article_waits(brand: asyncpg.Record) -> bool:
    """Whether a person reviews each article. Counts the first article on a keyword, as that is unknown before it is written."""
    targets = (brand["target"], *brand["further_targets"])
    return (
        approval_of(brand["approval"], writer=brand["writer"], targets=targets) is not ApprovalPolicy.NOTHING
    )


async def dispatch_waiting(
    tx: Transaction,
    slugs: Collection[str],
    limits: BrandLimits,
    *,
    now: datetime,
) -> int:
    """Sends waiting keywords within their brands' limits, by priority; returns their number.

    Keywords on a subject with an article end with it; those on a subject under way wait. The brands' locks must be held.
    Each keyword continues its stored trace, not that of the current message. Without a stored trace it begins one,
    linked to its cycle's.
    """
    if not slugs:
        return 0
    have_ended = await settle_followers(tx.connection, sorted(slugs), now=now)
    standing = await brand_loads(tx.connection, sorted(slugs))
    writing = {
        slug: min(each.room_for_articles(limits), each.awaiting_writing) for slug, each in standing.items()
    }
    research = {
        slug: min(each.room_for_research(limits, articles=writing[slug]), each.awaiting_research)
        for slug, each in standing.items()
    }
    send = partial(_send, tx, now=now)
    written = await _next(tx.connection, "writing", writing)
    await send(written)
    left = Counter(await _within_rates(tx.connection, research, now))
    begun: Counter[str] = Counter()
    for number in range(_MOST_ROUNDS):
        counts = {slug: count if number == 0 else _AT_ONCE for slug, count in left.items() if count > 0}
        rows = await _next(tx.connection, "queued", counts)
        if not rows:
            break
        going, others_ended = await _in_hand(tx.connection, rows, left, now)
        have_ended = have_ended or others_ended
        await send(going)
        sent = Counter(row.facts.brand_slug for row in going)
        begun += sent
        left -= sent
    if begun:
        await _note_begun(tx.connection, sorted(begun), now)
    if have_ended:
        await announce_ended_cycles(tx, slugs)
    return len(written) + begun.total()


async def _in_hand(
    connection: Connection, rows: Sequence[KeywordRow], capacity: Mapping[str, int], now: datetime
) -> tuple[list[KeywordRow], bool]:
    """The keywords to research, within `capacity`, and whether others have ended; some may now wait for another one."""
    candidates = [
        Candidate(
            row.facts.brand_slug,
            row.language,
            (row.cycle_id, row.position),
            row.keyword,
            refresh=row.refresh,
            is_distinct=row.is_distinct,
        )
        for row in rows
    ]
    taken = await claim_subjects(connection, candidates, capacity, now=now)
    going = [
        replace(row, facts=replace(row.facts, renews=taken.going[place]))
        for row in rows
        if (place := (row.cycle_id, row.position)) in taken.going
    ]
    return going, taken.others_ended


async def _send(tx: Transaction, rows: Sequence[KeywordRow], *, now: datetime) -> None:
    commands: list[UUID | None] = []
    kept: list[str | None] = []
    for row in rows:
        sent = [
            tx.send(
                payload,
                correlation_id=row.correlation_id,
                trace=row.trace or row.trace_of_cycle,
                own_trace=not row.trace,
                limits=row.limits,
            )
            for payload in take_turn(row.facts, row.keyword, row.priority, now=now).messages
        ]
        commands.append(next(iter(sent), None))
        kept.append(stored_trace(tx.trace_sent_with(sent[0]) if sent else row.trace))
    if rows:
        await _note_turns(tx.connection, rows, commands, kept, now)


async def dispatch_overlooked(database: Database, limits: BrandLimits) -> None:
    """Sends waiting keywords of brands with free capacity.

    Stalled keywords, daily limits and replicas of an older version leave such keywords behind.
    """
    async with database.transaction() as tx:
        slugs, now = await _lock_brands_with_turns(tx.connection)
        await dispatch_waiting(tx, slugs, limits, now=now)


async def _lock_brands_with_turns(connection: Connection) -> tuple[list[str], datetime]:
    """Locks the brands with waiting keywords, without brands that another transaction has locked.

    Returns:
        Their slugs, and the database's time.
    """
    rows = await connection.fetch(
        f"""
        select slug from brands as b
        where exists (
            select from cycles as c
            where c.brand_slug = b.slug and c.ended_at is null
              and (c.awaiting_research + c.awaiting_writing > 0 and {MAY_STEP} or c.following > 0)
        )
        order by slug for no key update skip locked
        """  # noqa: S608  (constants of these modules)
    )
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return [row["slug"] for row in rows], now


async def next_release(connection: Connection) -> timedelta | None:
    """Time until a brand with a daily rate may begin its next keyword; None if no keyword waits for that."""
    due: timedelta | None = await connection.fetchval(
        f"""
        select min(b.released_at + interval '1 day' / b.articles_per_day) - clock_timestamp()
        from brands as b
        where b.articles_per_day is not null and exists (
            select from cycles as c
            where c.brand_slug = b.slug and c.ended_at is null and c.awaiting_research > 0 and {MAY_STEP}
        )
        """  # noqa: S608  (constants of these modules)
    )
    return due


async def _within_rates(connection: Connection, wanted: Mapping[str, int], now: datetime) -> dict[str, int]:
    """How many of the wanted keywords the daily rates allow now."""
    slugs = [slug for slug, count in wanted.items() if count]
    if not slugs:
        return {}
    rated = await connection.fetch(
        """
        select slug, coalesce(released_at + interval '1 day' / articles_per_day <= $2, true) as due
        from brands where slug = any ($1::text[]) and articles_per_day is not null
        """,
        slugs,
        now,
    )
    due = {row["slug"]: int(row["due"]) for row in rated}
    return {slug: min(wanted[slug], due.get(slug, wanted[slug])) for slug in slugs}


async def _note_begun(connection: Connection, slugs: Sequence[str], now: datetime) -> None:
    await connection.execute(
        "update brands set released_at = $2 where slug = any ($1::text[]) and articles_per_day is not null",
        list(slugs),
        now,
    )


async def _next(connection: Connection, state: str, counts: Mapping[str, int]) -> list[KeywordRow]:
    """Waiting keywords in this state, up to `counts` of each brand: by rank, then longest waiting first."""
    wanted = {slug: count for slug, count in counts.items() if count}
    if not wanted:
        return []
    return await load_rows(
        connection,
        f"""
        (k.cycle_id, k.position) in (
            select first.cycle_id, first.position
            from unnest($1::text[], $2::int[]) as of (slug, room) cross join lateral (
                select waiting.*
                from brands as b join cycles as c on c.brand_slug = b.slug cross join lateral (
                    select cycle_id, position, rank, moved_at from keywords
                    where cycle_id = c.cycle_id and awaits_turn and state = $3
                    order by rank, moved_at, position limit of.room
                ) as waiting
                where b.slug = of.slug and c.ended_at is null and {MAY_STEP}
                order by waiting.rank, waiting.moved_at, waiting.position limit of.room
            ) as first
        )
        order by k.rank, k.moved_at, k.position
        """,  # noqa: S608  (constants of these modules)
        list(wanted),
        list(wanted.values()),
        state,
    )


async def _note_turns(
    connection: Connection,
    rows: Sequence[KeywordRow],
    commands: Sequence[UUID | None],
    kept_traces: Sequence[str | None],
    now: datetime,
) -> None:
    await connection.execute(
        """
        update keywords as k
        set awaits_turn = false, moved_at = $3, asked_again = false, command_id = given.command_id, trace = given.trace,
            command_stage = case k.state when 'queued' then 'research' else 'writing' end
        from unnest($1::uuid[], $2::int[], $4::uuid[], $5::text[]) as given (cycle_id, position, command_id, trace)
        where k.cycle_id = given.cycle_id and k.position = given.position
        """,
        [row.cycle_id for row in rows],
        [row.position for row in rows],
        now,
        list(commands),
        list(kept_traces),
    )
