"""Whose turn it is: which keywords are sent to research, and which articles to the writers.

Of a brand only so much is in hand at a time, and what has no room yet is stored as such (`awaits_turn`). So no brand stands
in front of the others in a queue, a keyword that matters more overtakes one that matters less, and what has not been sent can
still be held back.
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
from orchestrator.brands import Approval, approval_of
from orchestrator.cycles.domain import BRAND_ARTICLES, BRAND_RESEARCH, take_turn
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows, stored_trace
from orchestrator.cycles.store import MAY_STEP
from orchestrator.outside import tell_of_ends
from orchestrator.subjects import Candidate, claim_subjects, settle_followers
from orchestrator.writing import RETURNED_DRAFTS, UNREVIEWED_DRAFTS


@dataclass(frozen=True, slots=True)
class Room:
    """How much of one brand may be in hand at a time."""

    research: int = BRAND_RESEARCH
    """Keywords at research, and those that it is done with and that wait for a writer."""
    articles: int = BRAND_ARTICLES
    """Articles being written or queued for it."""


DEFAULT_ROOM: Final = Room()
_MOST_ROUNDS: Final = 20
_AT_ONCE: Final = 500
"""So often so many keywords are looked at that are not sent, as their subject is in hand or has its article; then others have their turn."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a brand is in hand, and what waits."""

    researching: int
    writing: int
    awaiting_research: int
    awaiting_writing: int
    following: int = 0
    """Keywords that wait for another one on their subject."""
    waiting: int = 0
    """Of those at research: those of which it said that they wait, for a budget or a provider that is away, and until when."""
    drafts_left: int | None = None
    """How many more drafts may wait for review, those that are in hand included; None where not every article waits."""

    def room_for_articles(self, room: Room) -> int:
        most = room.articles if self.drafts_left is None else min(room.articles, self.drafts_left)
        return max(most - self.writing, 0)

    def room_for_research(self, room: Room, *, articles: int = 0) -> int:
        """With so many `articles` sent to the writers just now.

        What waits for money takes no room from what a folder may answer: so at most twice as much is at research.
        """
        busy = self.researching - min(self.waiting, room.research)
        return max(room.research - busy - (self.awaiting_writing - articles), 0)


NOTHING_IN_HAND: Final = Standing(0, 0, 0, 0)


async def standings(connection: Connection, slugs: Sequence[str]) -> dict[str, Standing]:
    """How the brands stand. What may not go on is nobody's turn, and is left out."""
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
        row["slug"]: Standing(
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
    """Whether a person sees each article first, as far as one can know before it is written: the first on a keyword counts, too."""
    targets = (brand["target"], *brand["further_targets"])
    return approval_of(brand["approval"], writer=brand["writer"], targets=targets) is not Approval.NOTHING


async def give_turns(
    tx: Transaction,
    slugs: Collection[str],
    room: Room,
    *,
    now: datetime,
) -> int:
    """Sends what waits as far as its brand has room for it, what matters most first; returns how many.

    Keywords whose subject has its article, or is in hand, end with that or wait for it instead. The brands' locks must be held.
    Each goes on in the trace that was kept with it, whatever makes room for it: that is not about it. Where none was kept, one begins,
    linked to the one that its cycle began in.
    """
    if not slugs:
        return 0
    have_ended = await settle_followers(tx.connection, sorted(slugs), now=now)
    standing = await standings(tx.connection, sorted(slugs))
    writing = {
        slug: min(each.room_for_articles(room), each.awaiting_writing) for slug, each in standing.items()
    }
    research = {
        slug: min(each.room_for_research(room, articles=writing[slug]), each.awaiting_research)
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
        await tell_of_ends(tx, slugs)
    return len(written) + begun.total()


async def _in_hand(
    connection: Connection, rows: Sequence[KeywordRow], room: Mapping[str, int], now: datetime
) -> tuple[list[KeywordRow], bool]:
    """Those that are to be researched, as many as there is room for, and whether others have ended; some may wait for another one now."""
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
    taken = await claim_subjects(connection, candidates, room, now=now)
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
            )
            for payload in take_turn(row.facts, row.keyword, row.priority, now=now).messages
        ]
        commands.append(next(iter(sent), None))
        kept.append(stored_trace(tx.trace_sent_with(sent[0]) if sent else row.trace))
    if rows:
        await _note_turns(tx.connection, rows, commands, kept, now)


async def give_overlooked_turns(database: Database, room: Room) -> None:
    """Sends what waits though its brand has room.

    Keywords that stalled leave such behind, days in which a brand may begin no more, and replicas of the version before.
    """
    async with database.transaction() as tx:
        slugs, now = await _lock_brands_with_turns(tx.connection)
        await give_turns(tx, slugs, room, now=now)


async def _lock_brands_with_turns(connection: Connection) -> tuple[list[str], datetime]:
    """Locks the brands of which keywords wait for a turn, leaving out those that someone else is deciding about.

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
    """How long until a brand with a rate may begin its next keyword; None if none waits for that."""
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
    """How many keywords the brands may begin now, of those wanted."""
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
    """So many keywords of each brand that wait in this state: by rank, then the longest waiting."""
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
