"""SQL over accounts whose access ends, beside the functions that run it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from chassis import Connection

EVERY_BRAND: Final = "*"
A_ROUND: Final = timedelta(hours=1)
OUTDATED: Final = timedelta(days=1)
"""What is known of accounts is too old to go by after that."""


@dataclass(frozen=True, slots=True)
class SeenAccount:
    """One that the gateway says is near its end, or past it."""

    name: str
    kind: str
    brands: tuple[str, ...]
    state: str
    """`expiring` or `needs_reconnecting`."""
    detail: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class AccountInTrouble:
    """One that a brand may use."""

    account: str
    kind: str
    is_over: bool
    """It cannot be used any more; otherwise it soon cannot."""
    detail: str
    expires_at: datetime | None
    since: datetime


async def take_round(connection: Connection) -> bool:
    """Whether it is time to ask, and nobody else does; whoever dies over it leaves the next hour to another."""
    taken = await connection.fetchval(
        "update account_looks set next_at = now() + $1::interval where next_at <= now() returning true",
        A_ROUND,
    )
    return taken is True


async def note_accounts(connection: Connection, seen: Sequence[SeenAccount]) -> None:
    """Replaces what was known; an account that stands as it did has done so since then."""
    rows = [(each, brand) for each in seen for brand in each.brands]
    await connection.execute(
        """
        with seen as materialized (
            select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
                as s (account, brand_slug, kind, state, detail, expires_at)
            where brand_slug = $7 or exists (select from brands where slug = brand_slug)),
        gone as (
            delete from accounts_in_trouble as a
            where not exists (select from seen as s where s.account = a.account and s.brand_slug = a.brand_slug))
        insert into accounts_in_trouble as a (account, brand_slug, kind, state, detail, expires_at, since)
        select account, brand_slug, kind, state, detail, expires_at, now() from seen
        on conflict (account, brand_slug) do update set
            kind = excluded.kind, state = excluded.state, detail = excluded.detail, expires_at = excluded.expires_at,
            since = case when a.state = excluded.state then a.since else excluded.since end
        """,
        [each.name for each, _ in rows],
        [brand for _, brand in rows],
        [each.kind for each, _ in rows],
        [each.state for each, _ in rows],
        [each.detail for each, _ in rows],
        [each.expires_at for each, _ in rows],
        EVERY_BRAND,
    )
    await connection.execute("update account_looks set looked_at = now(), trouble = null")


async def note_trouble(connection: Connection, trouble: str) -> None:
    """Why the gateway could not be asked."""
    await connection.execute("update account_looks set trouble = $1", trouble)


async def accounts_in_trouble(connection: Connection, slug: str, *, limit: int) -> list[AccountInTrouble]:
    """Those that the brand may use: the ones that are over first, then by when they end."""
    rows = await connection.fetch(
        """
        select account, min(kind) as kind, bool_or(state = 'needs_reconnecting') as is_over, min(detail) as detail,
               min(expires_at) as expires_at, min(since) as since
        from accounts_in_trouble where brand_slug in ($1, $2)
        group by account order by 3 desc, 5 nulls last, account limit $3
        """,
        slug,
        EVERY_BRAND,
        limit,
    )
    return [AccountInTrouble(**row) for row in rows]


async def trouble_with_accounts(connection: Connection) -> str | None:
    """Why what is known of accounts is not to be relied on, in a sentence; None if it is, or if nobody is to be asked."""
    trouble: str | None = await connection.fetchval(
        "select trouble from account_looks where trouble is not null and (looked_at is null or looked_at < now() - $1::interval)",
        OUTDATED,
    )
    return None if trouble is None else f"whether accounts end soon could not be asked for a day: {trouble}"
