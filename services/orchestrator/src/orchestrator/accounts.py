"""Accounts that a person has to reconnect: fetched from the gateway every hour by one replica, and stored for audits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

import structlog
from pydantic import AwareDatetime, BaseModel, SecretStr, StringConstraints, ValidationError

from chassis import Connection
from chassis.http.client import PassingError, Peer, ServiceClient, UnusableAnswerError
from messaging import Database

log = structlog.get_logger(__name__)


EVERY_BRAND: Final = "*"
A_ROUND: Final = timedelta(hours=1)
OUTDATED: Final = timedelta(days=1)
"""Stored account states older than this are unreliable."""


@dataclass(frozen=True, slots=True)
class ReportedAccount:
    """An account that, according to the gateway, soon expires or has expired."""

    name: str
    kind: str
    brands: tuple[str, ...]
    state: str
    """`expiring` or `needs_reconnecting`."""
    detail: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class AccountInTrouble:
    """An account that a brand may use and that needs attention."""

    account: str
    kind: str
    is_over: bool
    """True: it no longer works. False: it stops working soon."""
    detail: str
    expires_at: datetime | None
    since: datetime


async def claim_check(connection: Connection) -> bool:
    """Claims this hour's check; False if it is not due or another replica has it. A crashed replica leaves the next hour to another."""
    taken = await connection.fetchval(
        "update account_looks set next_at = now() + $1::interval where next_at <= now() returning true",
        A_ROUND,
    )
    return taken is True


async def note_accounts(connection: Connection, seen: Sequence[ReportedAccount]) -> None:
    """Replaces all stored accounts. An account with an unchanged state keeps its `since`."""
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
    """Stores why the gateway could not be reached."""
    await connection.execute("update account_looks set trouble = $1", trouble)


async def accounts_in_trouble(connection: Connection, slug: str, *, limit: int) -> list[AccountInTrouble]:
    """The accounts of a brand that need attention: broken ones first, then by expiry."""
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
    """Why the stored accounts are unreliable, in a sentence; None if they are reliable or there is no gateway."""
    trouble: str | None = await connection.fetchval(
        "select trouble from account_looks where trouble is not null and (looked_at is null or looked_at < now() - $1::interval)",
        OUTDATED,
    )
    return None if trouble is None else f"whether accounts end soon could not be asked for a day: {trouble}"


_SECONDS: Final = 20.0
_MAX_BYTES: Final = 16_000_000
_MAX_DETAIL: Final = 300
_TROUBLES: Final = frozenset({"expiring", "needs_reconnecting"})
_Word = Annotated[str, StringConstraints(max_length=200)]


class _Account(BaseModel):
    """The fields of a gateway account that this service uses."""

    name: _Word
    kind: _Word
    brands: tuple[_Word, ...]
    state: str
    detail: str | None = None
    expires_at: AwareDatetime | None = None

    def seen(self) -> ReportedAccount:
        detail = (self.detail or "")[:_MAX_DETAIL]
        return ReportedAccount(self.name, self.kind, self.brands, self.state, detail, self.expires_at)


class _Accounts(BaseModel):
    items: tuple[_Account, ...]


class AccountHealthPoller:
    """Stores the state of all accounts every hour. `gateway_url` None: there are no accounts."""

    def __init__(self, database: Database, gateway_url: str | None, key: SecretStr) -> None:
        self._database = database
        self._gateway: ServiceClient | None = None
        if gateway_url is not None:
            peer = Peer("the gateway", gateway_url, "GATEWAY_URL", key)
            self._gateway = ServiceClient(peer, timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        if self._gateway is not None:
            await self._gateway.aclose()

    async def look(self) -> bool:
        """Fetches and stores the accounts if an hour is over; returns whether something was stored."""
        if self._gateway is None:
            return False
        async with self._database.transaction() as tx:
            if not await claim_check(tx.connection):
                return False
        try:
            reply = await self._gateway.ask("GET", "/v1/accounts")
        except (PassingError, UnusableAnswerError) as error:
            return await self._not_seen(str(error))
        try:
            said = _Accounts.model_validate_json(reply.body)
        except ValidationError:
            return await self._not_seen(f"the gateway answered {reply.status}, and no list of accounts")
        seen = [each.seen() for each in said.items if each.state in _TROUBLES]
        async with self._database.transaction() as tx:
            await note_accounts(tx.connection, seen)
        return True

    async def _not_seen(self, why: str) -> bool:
        async with self._database.transaction() as tx:
            await note_trouble(tx.connection, why[:_MAX_DETAIL])
        log.warning("accounts_not_seen", why=why)
        return False
