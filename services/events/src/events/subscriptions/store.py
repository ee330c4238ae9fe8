"""SQL of subscriptions and their deliveries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope import new_event_id
from events.log import store as log_store
from events.log.domain import EventFilter, LoggedEvent

_COUNTED: Final = 10_000
"""Events behind that are counted at most."""
_MOST_OUTSTANDING: Final = 10_000
"""Events of a subscription that may be delivered and not handled; then only those are delivered again."""
_SCANS: Final = 20
"""Parts of the log that one pull, or one look at the backlog, reads for events of the subscription."""
_COLUMNS: Final = (
    "name, brands, types, max_deliveries, position, missed_until, created_by, created_at, pulled_at"
)


@dataclass(frozen=True, slots=True)
class Subscription:
    name: str
    brands: tuple[str, ...] | None
    """None: all, also future ones, and what concerns no single brand."""
    types: tuple[str, ...] | None
    max_deliveries: int
    position: int
    missed_until: datetime | None
    created_by: str
    created_at: datetime
    pulled_at: datetime | None

    @property
    def wanted(self) -> EventFilter:
        return EventFilter(
            None if self.brands is None else frozenset(self.brands),
            None if self.types is None else frozenset(self.types),
        )

    def is_visible(self, brands: Collection[str] | None) -> bool:
        """Whether a caller who may see these brands (None: all) may use it."""
        # One whose brands are all erased is left to callers who may see everything.
        return brands is None or (bool(self.brands) and set(self.brands or ()) <= set(brands))


@dataclass(frozen=True, slots=True)
class Delivery:
    event: LoggedEvent
    lease_id: UUID
    number: int
    """1: the first one."""
    leased_until: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a subscription has before it."""

    behind: int
    """Events that match and were never delivered: up to 10,000, among the next 100,000 of the log."""
    leased: int
    waiting: int
    """Delivered, given back or run out of time, and to be delivered again."""
    dead: int
    oldest: datetime | None
    """When the oldest event that is not handled happened."""


@dataclass(frozen=True, slots=True)
class DeadDelivery:
    event: LoggedEvent
    number: int
    died_at: datetime


async def insert(
    connection: Connection,
    name: str,
    *,
    brands: Sequence[str] | None,
    types: Sequence[str] | None,
    max_deliveries: int,
    position: int,
    by: str,
) -> bool:
    """Stores a new subscription; returns False if there is one of this name."""
    status = await connection.execute(
        "insert into subscriptions (name, brands, types, max_deliveries, position, created_by) values ($1, $2, $3, $4, $5, $6)"
        " on conflict do nothing",
        name,
        None if brands is None else list(brands),
        None if types is None else list(types),
        max_deliveries,
        position,
        by,
    )
    return bool(status != "INSERT 0 0")


async def set_max_deliveries(connection: Connection, name: str, number: int) -> None:
    await connection.execute("update subscriptions set max_deliveries = $2 where name = $1", name, number)


async def find(connection: Connection, name: str, *, lock: bool = False) -> Subscription | None:
    row = await connection.fetchrow(
        f"select {_COLUMNS} from subscriptions where name = $1 {'for no key update' if lock else ''}",  # noqa: S608 - constants
        name,
    )
    return None if row is None else _subscription(row)


async def page(
    connection: Connection, brands: Collection[str] | None, *, after: str | None, limit: int
) -> list[Subscription]:
    """Up to `limit` that a caller with these brands may see, by name; without those of webhooks, which have a slash in their names."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from subscriptions where strpos(name, '/') = 0 and ($1::text[] is null or (brands <@ $1 and brands <> '{{}}'))"  # noqa: S608
        " and ($2::text is null or name > $2) order by name limit $3",
        None if brands is None else list(brands),
        after,
        limit,
    )
    return list(map(_subscription, rows))


async def remove(connection: Connection, name: str) -> None:
    await connection.execute("delete from subscriptions where name = $1", name)


async def read_backlog(connection: Connection, subscription: Subscription) -> Backlog:
    row = await connection.fetchrow(
        "select count(*) filter (where died_at is null and available_at > clock_timestamp()) as leased,"
        " count(*) filter (where died_at is null and available_at <= clock_timestamp()) as waiting,"
        " count(*) filter (where died_at is not null) as dead, min(position) filter (where died_at is null) as oldest"
        " from deliveries where subscription = $1",
        subscription.name,
    )
    assert row is not None
    behind, position, first = 0, subscription.position, None
    for _ in range(_SCANS):
        found = await log_store.read(connection, subscription.wanted, after=position, limit=log_store.SCANNED)
        behind += len(found.events)
        first = first or (found.events[0] if found.events else None)
        position = found.position
        if not found.is_more or behind >= _COUNTED:
            break
    oldest = first.happened_at if first else None
    if row["oldest"] is not None and (known := await log_store.fetch(connection, [row["oldest"]])):
        oldest = known[0].happened_at
    return Backlog(min(behind, _COUNTED), row["leased"], row["waiting"], row["dead"], oldest)


async def pull(
    connection: Connection, subscription: Subscription, *, limit: int, lease: timedelta
) -> list[Delivery]:
    """Leases up to `limit` events: first those to be delivered again, then new ones. The caller has locked the subscription."""
    name = subscription.name
    await connection.execute(
        "update deliveries set died_at = clock_timestamp() where subscription = $1 and died_at is null"
        " and available_at <= clock_timestamp() and number >= $2",
        name,
        subscription.max_deliveries,
    )
    again = await connection.fetch(
        "select position, number from deliveries where subscription = $1 and died_at is null and available_at <= clock_timestamp()"
        " order by position limit $2",
        name,
        limit,
    )
    numbers: dict[int, int] = {row["position"]: row["number"] + 1 for row in again}
    events = await log_store.fetch(connection, list(numbers)) if numbers else []
    # Before the events are read: what is stored meanwhile has a higher place.
    head = await log_store.read_head(connection)
    position = subscription.position
    room = min(limit - len(numbers), await _room(connection, name))
    for _ in range(_SCANS):
        if room <= 0:
            break
        found = await log_store.read(connection, subscription.wanted, after=position, limit=room)
        events += found.events
        numbers |= {event.position: 1 for event in found.events}
        position = found.position
        room -= len(found.events)
        if not found.is_more:
            # Nothing else up to here matches: the next look begins there, and nothing is missed once it is forgotten.
            position = max(position, head.position)
            break
    leases = {event.position: new_event_id() for event in events}
    await connection.execute(
        "insert into deliveries (subscription, position, lease_id, available_at, number)"
        " select $1, position, lease_id, clock_timestamp() + $5::interval, number"
        " from unnest($2::bigint[], $3::uuid[], $4::int[]) as d (position, lease_id, number)"
        " on conflict (subscription, position) do update"
        " set lease_id = excluded.lease_id, available_at = excluded.available_at, number = excluded.number",
        name,
        list(leases),
        list(leases.values()),
        [numbers[each] for each in leases],
        lease,
    )
    now: datetime = await connection.fetchval(
        "update subscriptions set position = $2, pulled_at = clock_timestamp() where name = $1 returning pulled_at",
        name,
        position,
    )
    return [
        Delivery(event, leases[event.position], numbers[event.position], now + lease)
        for event in sorted(events, key=lambda each: each.position)
    ]


async def _room(connection: Connection, name: str) -> int:
    outstanding: int = await connection.fetchval(
        "select count(*) from (select from deliveries where subscription = $1 and died_at is null limit $2) as d",
        name,
        _MOST_OUTSTANDING,
    )
    return _MOST_OUTSTANDING - outstanding


async def acknowledge(connection: Connection, name: str, leases: Collection[UUID]) -> set[UUID]:
    """Ends the deliveries with these leases; returns those that there were."""
    rows = await connection.fetch(
        "delete from deliveries where subscription = $1 and lease_id = any ($2::uuid[]) and died_at is null returning lease_id",
        name,
        list(leases),
    )
    return {UUID(int=row["lease_id"].int) for row in rows}


async def give_back(connection: Connection, name: str, leases: Mapping[UUID, timedelta]) -> set[UUID]:
    """Has events delivered again after so long; returns the leases that there were."""
    rows = await connection.fetch(
        "update deliveries d set available_at = clock_timestamp() + f.delay"
        " from unnest($2::uuid[], $3::interval[]) as f (lease_id, delay)"
        " where d.subscription = $1 and d.lease_id = f.lease_id and d.died_at is null returning d.lease_id",
        name,
        list(leases),
        list(leases.values()),
    )
    return {UUID(int=row["lease_id"].int) for row in rows}


async def dead_page(connection: Connection, name: str, *, after: int, limit: int) -> list[DeadDelivery]:
    """Up to `limit` dead letters of a subscription, the oldest first."""
    rows = await connection.fetch(
        "select position, number, died_at from deliveries where subscription = $1 and died_at is not null and position > $2"
        " order by position limit $3",
        name,
        after,
        limit,
    )
    events = {
        each.position: each for each in await log_store.fetch(connection, [row["position"] for row in rows])
    }
    return [
        DeadDelivery(events[row["position"]], row["number"], row["died_at"])
        for row in rows
        if row["position"] in events
    ]


async def revive(connection: Connection, name: str, positions: Sequence[int] | None) -> int:
    """Has dead letters delivered anew, all or those at these positions; returns how many."""
    status = await connection.execute(
        "update deliveries set died_at = null, number = 0, available_at = clock_timestamp()"
        " where subscription = $1 and died_at is not null and ($2::bigint[] is null or position = any ($2))",
        name,
        positions,
    )
    return int(status.rpartition(" ")[2])


async def forget_brand(connection: Connection, brand: str) -> None:
    """Removes a brand from subscriptions; deliveries of its events end, as the events are gone."""
    await connection.execute(
        "delete from deliveries d where not exists (select from events e where e.position = d.position)"
    )
    await connection.execute(
        "update subscriptions set brands = array_remove(brands, $1) where $1 = any (brands)", brand
    )


async def skip_forgotten(connection: Connection) -> None:
    """Moves subscriptions on that have not taken events before these were forgotten, and notes that they missed some."""
    head = await log_store.read_head(connection)
    await connection.execute(
        "update subscriptions set position = $1, missed_until = clock_timestamp() where position < $1",
        head.forgotten,
    )
    await connection.execute("delete from deliveries where position <= $1", head.forgotten)


def _subscription(row: Any) -> Subscription:
    fields = dict(row)
    for name in ("brands", "types"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    return Subscription(**fields)
