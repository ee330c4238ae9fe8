"""SQL over brands, beside the functions that run it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from chassis import Connection
from chassis.quiet_hours import QuietHours
from envelope.brand.payloads import PostsApproval
from orchestrator.brands.domain import DEFAULT_UNREVIEWED, EXTRACTIVE, ApprovalPolicy, BrandSlug, approval_of


@dataclass(frozen=True, slots=True)
class BrandRow:
    slug: BrandSlug
    name: str
    description: str
    language: str
    channels: tuple[str, ...]
    target: str
    further_targets: tuple[str, ...]
    """All targets but the home."""
    writer: str
    forbidden_words: tuple[str, ...]
    tone: str
    audience: str
    words: int | None
    approval: str | None
    """The brand's setting; None: the default."""
    posts_approval: PostsApproval
    short_links: bool
    """Whether posts link to articles by short links."""
    articles_per_day: int | None
    stale_after_days: int | None
    """None: the default."""
    refresh_stale: int | None
    """Stale articles that audits refresh per week; None: none."""
    max_unreviewed_drafts: int
    """This many unreviewed drafts pause the brand."""
    quiet_hours: QuietHours | None
    quiet_from: datetime | None
    quiet_until: datetime | None
    """End of the current or next quiet hours."""
    paused_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def approves(self) -> ApprovalPolicy:
        return approval_of(self.approval, writer=self.writer, targets=self.targets)

    @property
    def targets(self) -> tuple[str, ...]:
        """All targets, the home first."""
        return (self.target, *(each for each in self.further_targets if each != self.target))


async def upsert_brand(
    connection: Connection,
    *,
    slug: str,
    name: str,
    description: str,
    language: str,
    channels: Sequence[str],
    target: str,
    writer: str = EXTRACTIVE,
    forbidden_words: Sequence[str] = (),
    tone: str = "",
    words: int | None = None,
    approval: str | None = None,
    articles_per_day: int | None = None,
    stale_after_days: int | None = None,
    quiet_hours: QuietHours | None = None,
    posts_approval: PostsApproval = "nothing",
    refresh_stale: int | None = None,
    audience: str = "",
    targets: Sequence[str] = (),
    short_links: bool = False,
    max_unreviewed_drafts: int = DEFAULT_UNREVIEWED,
) -> tuple[BrandRow, bool]:
    """The brand as stored, and whether it is new. An unchanged brand keeps its `updated_at`.

    `targets` are all targets, `target` first; empty: only `target`.
    """
    period = quiet_hours and quiet_hours.period(await connection.fetchval("select now()"))
    row = await connection.fetchrow(
        """
        insert into brands as b
            (slug, name, description, language, channels, target, writer, forbidden_words, tone, words, approval,
             articles_per_day, stale_after_days, quiet_hours, quiet_from, quiet_until, posts_approval,
             refresh_stale, audience, further_targets, short_links, max_unreviewed_drafts)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb, $15, $16, $17, $18, $19, $20, $21, $22)
        on conflict (slug) do update
            set name = $2, description = $3, language = $4, channels = $5, target = $6, writer = $7,
                forbidden_words = $8, tone = $9, words = $10, approval = $11, articles_per_day = $12,
                stale_after_days = $13, quiet_hours = $14::jsonb, quiet_from = $15, quiet_until = $16, posts_approval = $17,
                refresh_stale = $18, audience = $19, further_targets = $20, short_links = $21,
                max_unreviewed_drafts = $22,
                updated_at = case
                    when (b.name, b.description, b.language, b.channels, b.target, b.writer, b.forbidden_words, b.tone,
                          b.words, b.approval, b.articles_per_day, b.stale_after_days, b.quiet_hours,
                          b.posts_approval, b.refresh_stale, b.audience, b.further_targets, b.short_links,
                          b.max_unreviewed_drafts)
                         is not distinct from ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb, $17, $18, $19, $20, $21, $22)
                    then b.updated_at else now() end
        returning *, xmax = 0 as is_new
        """,
        slug,
        name,
        description,
        language,
        list(channels),
        target,
        writer,
        list(forbidden_words),
        tone,
        words,
        approval,
        articles_per_day,
        stale_after_days,
        quiet_hours and json.dumps(quiet_hours.told()),
        period and period.begins,
        period and period.ends,
        posts_approval,
        refresh_stale,
        audience,
        list(targets[1:]),
        short_links,
        max_unreviewed_drafts,
    )
    assert row is not None
    return _brand(row), bool(row["is_new"])


async def find_brand(connection: Connection, slug: str) -> BrandRow | None:
    row = await connection.fetchrow("select * from brands where slug = $1", slug)
    return _brand(row) if row else None


async def find_brands(connection: Connection, slugs: Collection[str]) -> dict[str, BrandRow]:
    """The existing brands among these, by slug."""
    rows = await connection.fetch("select * from brands where slug = any ($1::text[])", list(slugs))
    return {row["slug"]: _brand(row) for row in rows}


async def hold_brand(connection: Connection, slug: str) -> BrandRow | None:
    """Finds a brand and locks it against changes until the transaction ends."""
    row = await connection.fetchrow("select * from brands where slug = $1 for no key update", slug)
    return _brand(row) if row else None


async def brands_page(
    connection: Connection, *, slugs: Collection[str] | None, after: str, limit: int
) -> list[BrandRow]:
    """A page of brands by slug, after `after`; all brands, or only these."""
    rows = await connection.fetch(
        "select * from brands where ($1::text[] is null or slug = any ($1)) and slug > $2 order by slug limit $3",
        None if slugs is None else list(slugs),
        after,
        limit,
    )
    return [_brand(row) for row in rows]


async def end_quiet_periods(connection: Connection) -> list[BrandSlug]:
    """Replaces each quiet period that is over with the next one; returns the slugs of their brands."""
    rows = await connection.fetch(
        "select slug, quiet_hours::text, now() from brands where quiet_until <= now()"
        " order by slug for no key update skip locked"
    )
    periods = [_quiet_hours(row["quiet_hours"]).period(row["now"]) for row in rows]
    await connection.execute(
        """
        update brands as b set quiet_from = next.begins, quiet_until = next.ends
        from unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) as next (slug, begins, ends)
        where b.slug = next.slug
        """,
        [row["slug"] for row in rows],
        [period.begins for period in periods],
        [period.ends for period in periods],
    )
    return [row["slug"] for row in rows]


async def until_a_quiet_period_ends(connection: Connection) -> timedelta | None:
    """Time until the next quiet period ends; None if no brand has quiet hours."""
    due: timedelta | None = await connection.fetchval(
        "select min(quiet_until) - clock_timestamp() from brands where quiet_until is not null"
    )
    return due


def _brand(row: asyncpg.Record) -> BrandRow:
    return BrandRow(
        slug=row["slug"],
        name=row["name"],
        description=row["description"],
        language=row["language"],
        channels=tuple(row["channels"]),
        target=row["target"],
        further_targets=tuple(row["further_targets"]),
        writer=row["writer"],
        forbidden_words=tuple(row["forbidden_words"]),
        tone=row["tone"],
        audience=row["audience"],
        words=row["words"],
        approval=row["approval"],
        posts_approval=row["posts_approval"],
        short_links=row["short_links"],
        articles_per_day=row["articles_per_day"],
        stale_after_days=row["stale_after_days"],
        refresh_stale=row["refresh_stale"],
        max_unreviewed_drafts=row["max_unreviewed_drafts"],
        quiet_hours=_quiet_hours(row["quiet_hours"]) if row["quiet_hours"] is not None else None,
        quiet_from=row["quiet_from"],
        quiet_until=row["quiet_until"],
        paused_at=row["paused_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _quiet_hours(stored: str) -> QuietHours:
    return QuietHours.read(**json.loads(stored))
