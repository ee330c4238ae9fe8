"""SQL for cached pages, robots.txt rules and hosts' turns."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from chassis import Connection
from gateway.pages.domain import PageResponse


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """A site's rules; `allows` is `file` (then `text` has them), `everything` or `nothing`."""

    allows: str
    text: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class HostPermit:
    """When a request to a host may begin."""

    mine: bool
    """False: the turn was too far away and was not taken."""
    wait: timedelta


def hashed(address: str) -> bytes:
    return sha256(address.encode()).digest()


async def page(connection: Connection, address: str) -> tuple[PageResponse, bool] | None:
    """A cached page, and whether it is fresh by the database's clock."""
    row = await connection.fetchrow(
        "select final, headers, body, read_at, expires_at, expires_at > clock_timestamp() as good"
        " from pages where address_hash = $1",
        hashed(address),
    )
    if row is None:
        return None
    kept = PageResponse(
        address=address,
        final=row["final"],
        headers=json.loads(row["headers"]),
        body=row["body"],
        read_at=row["read_at"],
        expires_at=row["expires_at"],
    )
    return kept, row["good"]


async def keep(connection: Connection, page: PageResponse) -> None:
    await connection.execute(
        "insert into pages (address_hash, address, final, headers, body, read_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7)"
        " on conflict (address_hash) do update set final = excluded.final, headers = excluded.headers,"
        " body = excluded.body, read_at = excluded.read_at, expires_at = excluded.expires_at",
        hashed(page.address),
        page.address,
        page.final,
        json.dumps(dict(page.headers)),
        page.body,
        page.read_at,
        page.expires_at,
    )


async def forget(connection: Connection, address: str) -> None:
    await connection.execute("delete from pages where address_hash = $1", hashed(address))


async def begin_reading(connection: Connection, address: str, reader: UUID, within: timedelta) -> bool:
    """Claims the reading of an address for this reader; returns whether it got the claim."""
    return (
        await connection.fetchval(
            "insert into page_reads (address_hash, reader, until) values ($1, $2, clock_timestamp() + $3)"
            " on conflict (address_hash) do update set reader = excluded.reader, until = excluded.until"
            " where page_reads.until < clock_timestamp() returning true",
            hashed(address),
            reader,
            within,
        )
        is True
    )


async def end_reading(connection: Connection, address: str, reader: UUID) -> None:
    await connection.execute(
        "delete from page_reads where address_hash = $1 and reader = $2", hashed(address), reader
    )


async def take_turn(connection: Connection, host: str, pause: timedelta, patience: timedelta) -> HostPermit:
    """Takes the host's next turn; the one after it is `pause` later, over all replicas."""
    wait = await connection.fetchval(
        "insert into hosts (host, next_request_at) values ($1, clock_timestamp() + $2)"
        " on conflict (host) do update set"
        " next_request_at = greatest(hosts.next_request_at, clock_timestamp()) + $2"
        " where hosts.next_request_at <= clock_timestamp() + $3"
        " returning next_request_at - $2 - clock_timestamp()",
        host,
        pause,
        patience,
    )
    if wait is not None:
        return HostPermit(mine=True, wait=max(wait, timedelta()))
    later = await connection.fetchval(
        "select next_request_at - clock_timestamp() from hosts where host = $1", host
    )
    return HostPermit(mine=False, wait=max(later or timedelta(), timedelta(seconds=1)))


async def delay_host(connection: Connection, host: str, wait: timedelta) -> None:
    """Delays the host's next turn, because the host asked for it."""
    await connection.execute(
        "insert into hosts (host, next_request_at) values ($1, clock_timestamp() + $2)"
        " on conflict (host) do update set"
        " next_request_at = greatest(hosts.next_request_at, excluded.next_request_at)",
        host,
        wait,
    )


async def rules(connection: Connection, origin: str) -> RobotsRules | None:
    row = await connection.fetchrow(
        "select allows, rules, expires_at from robots where origin = $1 and expires_at > clock_timestamp()",
        origin,
    )
    return None if row is None else RobotsRules(row["allows"], row["rules"], row["expires_at"])


async def keep_rules(
    connection: Connection, origin: str, allows: str, text: str, good_for: timedelta
) -> RobotsRules:
    expires_at: datetime = await connection.fetchval(
        "insert into robots (origin, allows, rules, expires_at) values ($1, $2, $3, clock_timestamp() + $4)"
        " on conflict (origin) do update set allows = excluded.allows, rules = excluded.rules,"
        " expires_at = excluded.expires_at returning expires_at",
        origin,
        allows,
        text,
        good_for,
    )
    return RobotsRules(allows, text, expires_at)


async def clean(connection: Connection, max_bytes: int, stale_for: timedelta) -> int:
    """Deletes expired rows, then the pages read longest ago that exceed the limit; returns the number of deleted pages."""
    await connection.execute("delete from robots where expires_at < clock_timestamp()")
    await connection.execute("delete from hosts where next_request_at < clock_timestamp() - interval '1 day'")
    await connection.execute("delete from page_reads where until < clock_timestamp()")
    taken: int = await connection.fetchval(
        "with old as (delete from pages where expires_at < clock_timestamp() - $2::interval returning 1),"
        " summed as (select address_hash, sum(bytes) over (order by read_at desc, address_hash) as total"
        "   from pages where expires_at >= clock_timestamp() - $2::interval),"
        " surplus as (delete from pages using summed"
        "   where pages.address_hash = summed.address_hash and summed.total > $1 returning 1)"
        " select (select count(*) from old) + (select count(*) from surplus)",
        max_bytes,
        stale_for,
    )
    return taken


async def count_pages(connection: Connection) -> dict[str, float]:
    """Numbers of cached pages: fresh ones and stale ones."""
    row = await connection.fetchrow(
        "select count(*) filter (where expires_at > now()) as good, count(*) filter (where expires_at <= now()) as stale"
        " from pages"
    )
    assert row is not None
    return {"good": float(row["good"]), "stale": float(row["stale"])}
