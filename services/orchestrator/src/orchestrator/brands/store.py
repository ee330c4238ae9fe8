"""SQL over brands, beside the functions that run it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from chassis import Connection
from orchestrator.brands.domain import EXTRACTIVE, Approval, BrandSlug, approval_of


@dataclass(frozen=True, slots=True)
class Brand:
    slug: BrandSlug
    name: str
    description: str
    language: str
    channels: tuple[str, ...]
    target: str
    writer: str
    forbidden_words: tuple[str, ...]
    tone: str
    words: int | None
    approval: str | None
    """As it was asked for; None: by default."""
    articles_per_day: int | None
    stale_after_days: int | None
    """None: by default."""
    paused_at: datetime | None
    looked_at: datetime | None
    """When a person looked last at what waits."""
    created_at: datetime
    updated_at: datetime

    @property
    def approves(self) -> Approval:
        return approval_of(self.approval, writer=self.writer, target=self.target)


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
) -> tuple[Brand, bool]:
    """The brand as stored, and whether it is new. Saying the same again leaves `updated_at` alone."""
    row = await connection.fetchrow(
        """
        insert into brands as b
            (slug, name, description, language, channels, target, writer, forbidden_words, tone, words, approval,
             articles_per_day, stale_after_days)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        on conflict (slug) do update
            set name = $2, description = $3, language = $4, channels = $5, target = $6, writer = $7,
                forbidden_words = $8, tone = $9, words = $10, approval = $11, articles_per_day = $12,
                stale_after_days = $13,
                updated_at = case
                    when (b.name, b.description, b.language, b.channels, b.target, b.writer, b.forbidden_words, b.tone,
                          b.words, b.approval, b.articles_per_day, b.stale_after_days)
                         is not distinct from ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
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
    )
    assert row is not None
    return _brand(row), bool(row["is_new"])


async def find_brand(connection: Connection, slug: str) -> Brand | None:
    row = await connection.fetchrow("select * from brands where slug = $1", slug)
    return _brand(row) if row else None


def _brand(row: asyncpg.Record) -> Brand:
    return Brand(
        slug=row["slug"],
        name=row["name"],
        description=row["description"],
        language=row["language"],
        channels=tuple(row["channels"]),
        target=row["target"],
        writer=row["writer"],
        forbidden_words=tuple(row["forbidden_words"]),
        tone=row["tone"],
        words=row["words"],
        approval=row["approval"],
        articles_per_day=row["articles_per_day"],
        stale_after_days=row["stale_after_days"],
        paused_at=row["paused_at"],
        looked_at=row["looked_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
