"""SQL over erasures, and the removal of a brand's rows."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID, uuid5

from chassis import Connection
from orchestrator.article_workflow import lock_storing

OWN: Final = "orchestrator"
GATEWAY: Final = "gateway"
_OF_THE_BRAND: Final = (
    "schedules", "audits", "links", "link_rounds", "accounts_in_trouble", "subjects", "subject_decisions", "cycles", "content", "former_addresses", "deleted_articles", "received_commands", "brand_imports", "brand_moves",
)  # fmt: skip
"""Tables with a `brand_slug`, ordered so that no row refers to a removed one. Dependent rows go with them."""


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    service: str
    erased_at: datetime
    removed: Mapping[str, int]
    elsewhere: tuple[str, ...] = ()
    """URLs of the brand's content on external sites and accounts; deleted after a time."""
    elsewhere_count: int = 0


@dataclass(frozen=True, slots=True)
class Erasure:
    erasure_id: UUID
    brand_slug: str
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None
    receipts: tuple[ErasureReceipt, ...]
    """In order of arrival."""

    @property
    def state(self) -> Literal["erased", "erasing"]:
        return "erasing" if self.ended_at is None else "erased"

    @property
    def answered(self) -> frozenset[str]:
        return frozenset(receipt.service for receipt in self.receipts)


async def lock_brand_for_good(connection: Connection, slug: str) -> bool:
    """Locks a brand until the transaction ends, so that nothing of it is stored; False if there is no such brand."""
    await lock_storing(connection)
    return await connection.fetchval("select true from brands where slug = $1 for update", slug) is True


async def find_erasure(connection: Connection, slug: str) -> Erasure | None:
    """The latest erasure of this name."""
    return await _erasure(
        connection, "brand_slug = $1 order by ended_at is null desc, asked_at desc limit 1", slug
    )


async def lock_erasure(connection: Connection, erasure_id: UUID) -> Erasure | None:
    await connection.execute("select from erasures where erasure_id = $1 for update", erasure_id)
    return await _erasure(connection, "erasure_id = $1", erasure_id)


async def overdue(connection: Connection, after: timedelta) -> Sequence[UUID]:
    """Locks and returns erasures that some service has not confirmed for `after`, and notes the repeated request."""
    rows = await connection.fetch(
        """
        update erasures set sent_at = clock_timestamp() where erasure_id in (
            select erasure_id from erasures where ended_at is null and sent_at < now() - $1::interval
            order by sent_at limit 20 for update skip locked)
        returning erasure_id
        """,
        after,
    )
    return [row["erasure_id"] for row in rows]


async def reopen(connection: Connection, service: str, since: datetime) -> Sequence[UUID]:
    """Reopens erasures that a service confirmed since then; returns them, locked.

    Leaves out names that another brand has taken, or that were erased again later.
    """
    rows = await connection.fetch(
        """
        update erasures as e set ended_at = null, sent_at = clock_timestamp()
        where exists (
                select from erasure_receipts as r
                where r.erasure_id = e.erasure_id and r.service = $1 and r.erased_at >= $2)
            and not exists (select from brands where slug = e.brand_slug)
            and not exists (select from erasures as l where l.brand_slug = e.brand_slug and l.asked_at > e.asked_at)
        returning erasure_id
        """,
        service,
        since,
    )
    return [row["erasure_id"] for row in rows]


async def waiting_for_the_gateway(connection: Connection, everybody: Collection[str]) -> list[Erasure]:
    """Open erasures that all of `everybody` have confirmed."""
    rows = await connection.fetch(
        """
        select erasure_id from erasures as e where ended_at is null and not exists (
            select from unnest($1::text[]) as needed (name) where not exists (
                select from erasure_receipts as r where r.erasure_id = e.erasure_id and r.service = needed.name))
        order by asked_at limit 20
        """,
        list(everybody),
    )
    found = [await _erasure(connection, "erasure_id = $1", row["erasure_id"]) for row in rows]
    return [each for each in found if each is not None]


async def insert_erasure(connection: Connection, erasure_id: UUID, slug: str, *, by: str) -> None:
    await connection.execute(
        "insert into erasures (erasure_id, brand_slug, asked_by) values ($1, $2, $3)", erasure_id, slug, by
    )


async def insert_receipt(
    connection: Connection,
    erasure_id: UUID,
    service: str,
    removed: Mapping[str, int],
    *,
    elsewhere: Sequence[str] = (),
    elsewhere_count: int = 0,
) -> None:
    """Stores a receipt. A second receipt of the service adds the external URLs if the first had none."""
    await connection.execute(
        """
        insert into erasure_receipts as known (erasure_id, service, removed, elsewhere, elsewhere_count)
        values ($1, $2, $3::text::jsonb, $4, $5)
        on conflict (erasure_id, service) do update
            set (elsewhere, elsewhere_count) = (excluded.elsewhere, excluded.elsewhere_count)
            where known.elsewhere_count = 0 and excluded.elsewhere_count > 0
        """,
        erasure_id,
        service,
        json.dumps(dict(removed)),
        list(elsewhere),
        elsewhere_count,
    )


async def forget_elsewhere(connection: Connection, after: timedelta) -> int:
    """Deletes external URLs older than `after`, not their counts; returns the number of receipts changed."""
    status = await connection.execute(
        "update erasure_receipts set elsewhere = '{}' where elsewhere <> '{}' and erased_at < now() - $1::interval",
        after,
    )
    return _count(status)


async def end_erasure(connection: Connection, erasure_id: UUID) -> None:
    await connection.execute(
        "update erasures set ended_at = clock_timestamp() where erasure_id = $1 and ended_at is null",
        erasure_id,
    )


async def remove_own(connection: Connection, slug: str) -> dict[str, int]:
    """Deletes all rows of a brand in the caller's transaction; returns the counts by kind."""
    await _remove_writings(connection, slug)
    removed = {
        table: _count(await connection.execute(f"delete from {table} where brand_slug = $1", slug))  # noqa: S608
        for table in _OF_THE_BRAND
    }
    removed["keys"] = await _take_from_keys(connection, slug)
    await connection.execute("delete from kept_answers where path like $1", f"/v1/brands/{slug}/%")
    removed["brands"] = _count(await connection.execute("delete from brands where slug = $1", slug))
    return {what: count for what, count in removed.items() if count}


async def _remove_writings(connection: Connection, slug: str) -> None:
    """Deletes the brand's workflow steps and waits, and large results that no other brand uses."""
    rows = await connection.fetch(
        """
        select content_id, max(content_versions.version) as newest from content join content_versions using (content_id)
        where brand_slug = $1 group by content_id
        union all
        select k.content_id, 1 from keywords as k join cycles using (cycle_id)
        where brand_slug = $1 and k.content_id is not null
        """,
        slug,
    )
    articles = {row["content_id"] for row in rows}
    revisions = [
        uuid5(row["content_id"], f"revision {number}")
        for row in rows
        for number in range(2, row["newest"] + 2)
    ]
    workflows = await connection.fetch(
        """
        with gone as (
            delete from writings where content_id = any ($1::uuid[]) returning event_id, steps_id),
        waits as (
            delete from writing_waits where content_id = any ($1::uuid[]))
        select event_id as id from gone union select steps_id from gone
        union select command_id from keywords join cycles using (cycle_id) where brand_slug = $2 and command_id is not null
        """,
        list(articles),
        slug,
    )
    steps = [*articles, *revisions, *(row["id"] for row in workflows)]
    await connection.execute("delete from workflow_steps where workflow_id = any ($1::uuid[])", steps)
    digests = await connection.fetch(
        "delete from large_results where workflow_id = any ($1::uuid[]) returning digest", steps
    )
    await connection.execute(
        """
        delete from blobs where digest in (
            select digest from blobs as b
            where digest = any ($1::bytea[]) and not exists (select from large_results as r where r.digest = b.digest)
            for update skip locked)
        """,
        [row["digest"] for row in digests],
    )


async def _take_from_keys(connection: Connection, slug: str) -> int:
    """Revokes keys of this brand alone, as a later brand of the name is another one. Other keys lose the brand."""
    revoked = await connection.execute(
        "update api_keys set revoked_at = clock_timestamp(), revoked_by = 'erasure' where brands = array[$1] and revoked_at is null",
        slug,
    )
    await connection.execute(
        "update api_keys set brands = array_remove(brands, $1) where $1 = any (brands) and cardinality(brands) > 1",
        slug,
    )
    return _count(revoked)


async def _erasure(connection: Connection, condition: str, argument: object) -> Erasure | None:
    row = await connection.fetchrow(
        f"select erasure_id, brand_slug, asked_by, asked_at, ended_at from erasures where {condition}",  # noqa: S608
        argument,
    )
    if row is None:
        return None
    receipts = await connection.fetch(
        """
        select service, erased_at, removed::text as removed, elsewhere, elsewhere_count from erasure_receipts
        where erasure_id = $1 order by erased_at, service
        """,
        row["erasure_id"],
    )
    return Erasure(**row, receipts=tuple(map(_receipt, receipts)))


def _receipt(row: Any) -> ErasureReceipt:
    return ErasureReceipt(
        row["service"],
        row["erased_at"],
        json.loads(row["removed"]),
        tuple(row["elsewhere"]),
        row["elsewhere_count"],
    )


def _count(status: str) -> int:
    """The number in a status such as `DELETE 5`."""
    return int(status.rpartition(" ")[2])
