"""SQL over notification routes and notifications."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from chassis.quiet_hours import QuietHours
from envelope import new_event_id
from monitor.erased import ERASURES
from monitor.notifications.domain import Condition, NotificationRoute, SummarySchedule

_EVENTS_FOR: Final = timedelta(days=7)
"""Time for which an event waits for a failing route."""


# -- routes --------------------------------------------------------------------------------------------------------------


async def put_route(
    connection: Connection, route: NotificationRoute, summary_due_at: datetime | None
) -> bool:
    """Creates or replaces a route; returns whether it is new. A failing route is tried again at once."""
    row = await connection.fetchrow(
        """
        insert into notification_routes (name, account, addresses, brand_slug, kinds, quiet_hours, group_seconds, summary, summary_due_at)
        values ($1, $2, $3, $4, $5, $6::text::jsonb, $7, $8::text::jsonb, $9)
        on conflict (name) do update
        set account = excluded.account, addresses = excluded.addresses, brand_slug = excluded.brand_slug, kinds = excluded.kinds,
            quiet_hours = excluded.quiet_hours, group_seconds = excluded.group_seconds,
            -- The same summary stays due when it was.
            summary_due_at = case when notification_routes.summary = excluded.summary then notification_routes.summary_due_at
                                  else excluded.summary_due_at end,
            summary = excluded.summary, updated_at = clock_timestamp(),
            try_again_at = case when notification_routes.failing_since is not null then clock_timestamp() end
        returning xmax = 0 as is_new
        """,
        route.name,
        route.account,
        list(route.addresses),
        route.brand,
        list(route.kinds),
        None if route.quiet_hours is None else json.dumps(route.quiet_hours.told()),
        route.group_seconds,
        None if route.summary is None else json.dumps(route.summary.as_json()),
        summary_due_at,
    )
    assert row is not None
    is_new: bool = row["is_new"]
    return is_new


async def delete_route(connection: Connection, name: str) -> bool:
    """Deletes a route; returns whether it existed. Its waiting messages fail, and sent ones stay in the log."""
    gone = await connection.fetchval("delete from notification_routes where name = $1 returning true", name)
    await connection.execute(
        """
        update notification_messages
        set state = 'failed', problem = 'the route was removed', ended_at = clock_timestamp(), lease_until = null
        where route = $1 and state in ('waiting', 'sending')
        """,
        name,
    )
    return gone is not None


async def fetch_routes(
    connection: Connection, name: str | None = None, brands: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Routes with settings and state, by name; `name` selects one, and `brands` limits them to these brands' own."""
    rows = await connection.fetch(
        """
        select r.*, (select max(ended_at) from notification_messages as m where m.route = r.name and m.state = 'sent') as last_sent_at
        from notification_routes as r
        where ($1::text is null or name = $1) and ($2::text[] is null or brand_slug = any ($2)) order by name
        """,
        name,
        _listed(brands),
    )
    return [{**row, "set": route_of(row)} for row in rows]


async def failing_routes(connection: Connection) -> list[dict[str, Any]]:
    rows = await connection.fetch(
        "select name, problem, failing_since from notification_routes where failing_since is not null order by name"
    )
    return [dict(row) for row in rows]


async def routes_by_state(connection: Connection) -> dict[str, float]:
    """Number of routes by state: `working` and `failing`."""
    row = await connection.fetchrow(
        "select count(*) filter (where failing_since is null) as working, count(failing_since) as failing from notification_routes"
    )
    assert row is not None
    return {name: float(count) for name, count in row.items()}


def route_of(row: Any) -> NotificationRoute:
    quiet = None if row["quiet_hours"] is None else json.loads(row["quiet_hours"])
    summary = None if row["summary"] is None else json.loads(row["summary"])
    return NotificationRoute(
        name=row["name"],
        account=row["account"],
        addresses=tuple(row["addresses"]),
        brand=row["brand_slug"],
        kinds=tuple(row["kinds"]),
        quiet_hours=None if quiet is None else QuietHours.read(**quiet),
        group_seconds=row["group_seconds"],
        summary=None if summary is None else SummarySchedule.read(**summary),
    )


# -- sources -------------------------------------------------------------------------------------------------------------


async def claim_source(connection: Connection, name: str, every: timedelta) -> datetime | None:
    """Claims a source that is due, if a route exists; returns the database's time, else None."""
    began: datetime | None = await connection.fetchval(
        """
        insert into notification_sources as s (name, look_at)
        select $1, clock_timestamp() + $2::interval
        where exists (select from notification_routes)
          and not exists (select from notification_sources where name = $1 and look_at > clock_timestamp())
        on conflict (name) do update set look_at = excluded.look_at where s.look_at <= clock_timestamp()
        returning clock_timestamp()
        """,
        name,
        every,
    )
    return began


async def record_poll(connection: Connection, name: str, problem: str | None) -> timedelta:
    """Stores the outcome of a poll; returns for how long polls have failed."""
    away: timedelta = await connection.fetchval(
        """
        update notification_sources
        set problem = $2, failing_since = case when $2::text is not null then coalesce(failing_since, clock_timestamp()) end
        where name = $1 returning coalesce(clock_timestamp() - failing_since, '0'::interval)
        """,
        name,
        problem,
    )
    return away


# -- notifications -------------------------------------------------------------------------------------------------------


async def reconcile(connection: Connection, source: str, conditions: Sequence[Condition]) -> None:
    """Makes the open notifications of a source match its conditions: inserts new ones, resolves ended ones."""
    # This lock serializes replicas, so that two do not insert the same notification.
    await connection.execute("select from notification_sources where name = $1 for update", source)
    standing: list[UUID] = []
    for each in conditions:
        seen = await (_note_event if each.is_event else _note_state)(connection, source, each)
        standing += [] if seen is None else [seen]
    await connection.execute(
        """
        update notifications set resolved_at = clock_timestamp()
        where source = $1 and resolved_at is null
          and case when is_event then noticed_at < clock_timestamp() - $3::interval else id <> all ($2::uuid[]) end
        """,
        source,
        standing,
        _EVENTS_FOR,
    )


async def _note_state(connection: Connection, source: str, seen: Condition) -> UUID | None:
    found: UUID | None = await connection.fetchval(
        """
        insert into notifications as n (id, source, kind, brand_slug, key, severity, title, detail, command, link, count, is_event)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, false)
        on conflict (kind, brand_slug, key) where resolved_at is null do update
        set severity = excluded.severity, title = excluded.title, detail = excluded.detail, command = excluded.command,
            link = excluded.link, count = excluded.count,
            changed_at = case when (n.severity, n.count) is distinct from (excluded.severity, excluded.count)
                              then clock_timestamp() else n.changed_at end
        returning id
        """,
        *_values(source, seen),
    )
    return found


async def _note_event(connection: Connection, source: str, seen: Condition) -> UUID | None:
    await connection.execute(
        """
        insert into notifications (id, source, kind, brand_slug, key, severity, title, detail, command, link, count, is_event)
        select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, true
        where not exists (
            select from notifications where kind = $3 and brand_slug is not distinct from $4 and key = $5)
        """,
        *_values(source, seen),
    )
    return None


def _values(source: str, seen: Condition) -> tuple[Any, ...]:
    return (
        new_event_id(),
        source,
        seen.kind.value,
        seen.brand,
        seen.key,
        seen.severity.value,
        seen.title,
        seen.detail,
        seen.command,
        seen.link,
        seen.count,
    )


async def fetch_page(
    connection: Connection,
    *,
    is_open: bool | None,
    kind: str | None,
    brand: str | None,
    before: UUID | None,
    limit: int,
    brands: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Notifications, the newest first, that follow `before` if given; with `brands`, only those of these brands and routes."""
    rows = await connection.fetch(
        """
        select n.*, coalesce((
            select jsonb_agg(jsonb_build_object('route', t.route, 'told_at', t.told_at) order by t.route)
            from notification_tellings as t join notification_routes as r on r.name = t.route
            where t.notification_id = n.id and ($6::text[] is null or r.brand_slug = any ($6))), '[]') as told
        from notifications as n
        where ($1::boolean is null or (resolved_at is null) = $1) and ($2::text is null or kind = $2)
          and ($3::text is null or brand_slug = $3)
          and ($6::text[] is null or brand_slug = any ($6))
          and ($4::uuid is null or (noticed_at, id) < (
            select noticed_at, id from notifications where id = $4 and ($6::text[] is null or brand_slug = any ($6))))
        order by noticed_at desc, id desc limit $5
        """,
        is_open,
        kind,
        brand,
        before,
        limit,
        _listed(brands),
    )
    return [{**row, "told": json.loads(row["told"])} for row in rows]


async def acknowledge(
    connection: Connection, notification: UUID, by: str, brands: Collection[str] | None = None
) -> bool:
    """Acknowledges a notification of these brands; False if it is unknown. The first name stays."""
    found = await connection.fetchval(
        """
        update notifications
        set acknowledged_at = coalesce(acknowledged_at, clock_timestamp()), acknowledged_by = coalesce(acknowledged_by, $2)
        where id = $1 and ($3::text[] is null or brand_slug = any ($3)) returning true
        """,
        notification,
        by,
        _listed(brands),
    )
    return found is not None


async def fetch_notification(connection: Connection, notification: UUID) -> dict[str, Any] | None:
    rows = await connection.fetch("select *, '[]' as told from notifications where id = $1", notification)
    return {**rows[0], "told": []} if rows else None


async def open_by_kind(connection: Connection, kinds: Collection[str]) -> dict[str, float]:
    rows = await connection.fetch(
        "select kind, count(*) as standing from notifications where resolved_at is null and not is_event group by kind"
    )
    return dict.fromkeys(kinds, 0.0) | {row["kind"]: float(row["standing"]) for row in rows}


async def delete_expired(connection: Connection, older_than: timedelta) -> None:
    """Deletes resolved notifications and ended messages of this age."""
    await connection.execute(
        "delete from notifications where resolved_at < clock_timestamp() - $1::interval", older_than
    )
    await connection.execute(
        "delete from notification_messages where ended_at < clock_timestamp() - $1::interval", older_than
    )


async def erase(connection: Connection, brand: str) -> dict[str, int]:
    """Deletes a brand's routes and notifications, and every message that mentions it, operators' messages included.

    Other notifications of a deleted message that was not sent yet go out again.
    """
    messages = await connection.execute(
        """
        delete from notification_messages
        where brand_slug = $1 or content @> jsonb_build_object('items', jsonb_build_array(jsonb_build_object('brand', $1::text)))
           or (purpose = 'summary' and position('"' || $1 || ': ' in content::text) > 0)
        """,
        brand,
    )
    noticed = await connection.execute("delete from notifications where brand_slug = $1", brand)
    routes = await connection.execute("delete from notification_routes where brand_slug = $1", brand)
    return {
        "notifications": _count(noticed),
        "notification_messages": _count(messages),
        "notification_routes": _count(routes),
    }


async def erased_since(connection: Connection, moment: datetime) -> bool:
    """Whether a brand was erased since then; blocks erasures until the transaction ends."""
    await ERASURES.block_erasures(connection)
    found: bool = await connection.fetchval(
        "select exists (select from erased_brands where erased_at >= $1)", moment
    )
    return found


def _listed(brands: Collection[str] | None) -> list[str] | None:
    return None if brands is None else list(brands)


def _count(status: str) -> int:
    """The number in a status such as `DELETE 5`."""
    return int(status.rpartition(" ")[2])
