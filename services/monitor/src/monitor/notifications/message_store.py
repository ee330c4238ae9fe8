"""SQL over the notifications that routes have to send, and over their messages."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from monitor.notifications.domain import (
    NotificationEvent,
    NotificationKind,
    NotificationRoute,
    NotificationSnapshot,
    Severity,
)
from monitor.notifications.store import route_of

_MOST_AT_A_TIME: Final = 500
_SUMMARIES_FOR: Final = timedelta(days=7)
"""Age up to which a failed summary is sent once its route works again."""


@dataclass(frozen=True, slots=True)
class LeasedMessage:
    """A message that this replica sends until its lease ends, with the current route."""

    id: UUID
    purpose: str
    content: Mapping[str, Any] | None
    attempts: int
    made_at: datetime
    age: timedelta
    route: NotificationRoute
    is_failing: bool


_FOR_A_ROUTE: Final = """
    notifications as n join notification_routes as r
        on (r.brand_slug is null or r.brand_slug = n.brand_slug)
        -- Each operators' route gets notifications about failing routes, without regard to its kinds.
        and (r.kinds = '{}' or n.kind = any (r.kinds) or (n.kind = 'routes' and r.brand_slug is null))
        and not (n.kind = 'routes' and n.key = r.name)
    where n.resolved_at is null and n.acknowledged_at is null and (not n.is_event or n.noticed_at >= r.created_at)
"""
_LOGGED: Final = "id, route, brand_slug, purpose, coalesce(content->>'title', '') as title, state, attempts, due_at, problem, made_at, ended_at"
_OPEN: Final = "notification_tellings where closed_at is null and message_id is null"
_DUE: Final = "((m.state = 'waiting' and m.due_at <= clock_timestamp()) or (m.state = 'sending' and m.lease_until < clock_timestamp()))"


@dataclass(frozen=True, slots=True)
class PendingWork:
    """Which work of the notifier is due."""

    summary: bool
    """A summary is due."""
    news: bool
    """A route may have notifications to send."""
    sending: bool
    """A message is due."""


async def pending_work(connection: Connection) -> PendingWork:
    """Checks by one statement what is due; frequent polls mostly find nothing."""
    row = await connection.fetchrow(
        f"""
        select exists (select from notification_routes where summary_due_at <= clock_timestamp()) as summary,
               exists (select from {_OPEN})
                   or exists (select from {_FOR_A_ROUTE} and not exists (
                       select from notification_tellings as t where t.notification_id = n.id and t.route = r.name)) as news,
               exists (select from notification_messages as m where {_DUE}) as sending
        """  # noqa: S608  (constants of this module)
    )
    assert row is not None
    return PendingWork(**row)


async def assign_to_routes(connection: Connection) -> None:
    """Assigns open notifications to their routes; a route gets no events from before its creation."""
    await connection.execute(
        f"insert into notification_tellings (notification_id, route) select n.id, r.name from {_FOR_A_ROUTE}"  # noqa: S608  (as above)
        " on conflict do nothing"
    )


async def lock_ready_route(connection: Connection, name: str) -> tuple[NotificationRoute, datetime] | None:
    """Locks a route that may get a new message now; returns it with the database's time, or None."""
    row = await connection.fetchrow(
        """
        select r.*, clock_timestamp() as now from notification_routes as r
        where name = $1 and coalesce(try_again_at <= clock_timestamp(), true)
          and not exists (
              select from notification_messages as m
              where m.route = r.name and m.purpose = 'news' and m.state in ('waiting', 'sending'))
        for update of r skip locked
        """,
        name,
    )
    return None if row is None else (route_of(row), row["now"])


async def routes_with_pending(connection: Connection) -> list[str]:
    rows = await connection.fetch(f"select distinct route from {_OPEN} order by route")  # noqa: S608  (as above)
    return [row["route"] for row in rows]


async def pending_notifications(
    connection: Connection, route: NotificationRoute
) -> list[NotificationSnapshot]:
    """Notifications of a route that no message carries yet; those that its current brand and kinds exclude are left out."""
    rows = await connection.fetch(
        """
        select n.id as notification_id, n.kind, n.brand_slug as brand, n.key, n.severity, n.title, n.detail, n.command, n.link,
               n.count, n.is_event, n.noticed_at, n.changed_at, n.resolved_at, n.acknowledged_at, t.created_at as begun_at,
               t.told_count, t.told_severity, t.told_at
        from notification_tellings as t join notifications as n on n.id = t.notification_id
        where t.route = $1 and t.closed_at is null and t.message_id is null
          and ($2::text is null or n.brand_slug = $2)
          and ($3::text[] = '{}' or n.kind = any ($3) or (n.kind = 'routes' and $2 is null))
        order by n.noticed_at, n.id limit $4
        """,
        route.name,
        route.brand,
        list(route.kinds),
        _MOST_AT_A_TIME,
    )
    return [
        NotificationSnapshot(
            **{
                **row,
                "kind": NotificationKind(row["kind"]),
                "severity": Severity(row["severity"]),
                "told_severity": None if row["told_severity"] is None else Severity(row["told_severity"]),
            }
        )
        for row in rows
    ]


async def close_tellings(connection: Connection, route: str, notifications: Sequence[UUID]) -> None:
    """Ends the assignment of these notifications to the route."""
    await connection.execute(
        "update notification_tellings set closed_at = clock_timestamp() where route = $1 and notification_id = any ($2)",
        route,
        list(notifications),
    )


async def insert_message(
    connection: Connection,
    message: UUID,
    route: NotificationRoute,
    purpose: str,
    content: Mapping[str, Any] | None,
) -> None:
    """Stores a message to send; the same id again changes nothing."""
    await connection.execute(
        """
        insert into notification_messages (id, route, brand_slug, purpose, content, state)
        values ($1, $2, $3, $4, $5::text::jsonb, 'waiting') on conflict (id) do nothing
        """,
        message,
        route.name,
        route.brand,
        purpose,
        None if content is None else json.dumps(content),
    )
    if content is not None:
        await connection.execute(
            "update notification_tellings set message_id = $2 where route = $1 and notification_id = any ($3)",
            route.name,
            message,
            [UUID(each["id"]) for each in content["told"]],
        )


async def claim_message(
    connection: Connection, lease: timedelta, *, busy: Sequence[str], only: UUID | None = None
) -> LeasedMessage | None:
    """Leases the message that has been due the longest, on a route not in `busy`; None if no message is due."""
    row = await connection.fetchrow(
        f"""
        with due as (
            select m.id from notification_messages as m
            where {_DUE}
              and m.route <> all ($2::text[]) and ($3::uuid is null or m.id = $3)
            order by m.due_at, m.id limit 1 for update skip locked
        ), taken as (
            update notification_messages as m
            set state = 'sending', lease_until = clock_timestamp() + $1::interval, attempts = m.attempts + 1
            from due where m.id = due.id returning m.*
        )
        select r.*, taken.id, taken.purpose, taken.content, taken.attempts, taken.made_at, clock_timestamp() - taken.made_at as age
        from taken join notification_routes as r on r.name = taken.route
        """,  # noqa: S608  (as above)
        lease,
        list(busy),
        only,
    )
    if row is None:
        return None
    return LeasedMessage(
        row["id"],
        row["purpose"],
        None if row["content"] is None else json.loads(row["content"]),
        row["attempts"],
        row["made_at"],
        row["age"],
        route_of(row),
        row["failing_since"] is not None,
    )


async def store_content(connection: Connection, claimed: LeasedMessage, content: Mapping[str, Any]) -> bool:
    """Stores the content of a composed summary; False if another replica has the lease by now."""
    found = await connection.fetchval(
        """
        update notification_messages set content = $3::text::jsonb
        where id = $1 and state = 'sending' and attempts = $2 returning true
        """,
        claimed.id,
        claimed.attempts,
        json.dumps(content),
    )
    return found is not None


async def mark_sent(connection: Connection, claimed: LeasedMessage, remark: str | None) -> None:
    """Stores that a message was sent. The route counts as working, and its failed summaries become due."""
    if not await _end(connection, claimed, "sent", remark):
        return
    told = [] if claimed.content is None else claimed.content["told"]
    await connection.execute(
        """
        update notification_tellings as t
        set told_at = clock_timestamp(), told_count = told.count, told_severity = told.severity, message_id = null,
            closed_at = case when told.about = $3 then clock_timestamp() end
        from jsonb_to_recordset($2::text::jsonb) as told (id uuid, about text, count int, severity text)
        where t.route = $1 and t.notification_id = told.id
        """,
        claimed.route.name,
        json.dumps(told),
        NotificationEvent.RESOLVED.value,
    )
    await connection.execute(
        "update notification_routes set failing_since = null, problem = null, try_again_at = null where name = $1",
        claimed.route.name,
    )
    await connection.execute(
        """
        update notification_messages
        set state = 'waiting', attempts = 0, due_at = clock_timestamp(), ended_at = null
        where route = $1 and purpose = 'summary' and state = 'failed' and made_at > clock_timestamp() - $2::interval
        """,
        claimed.route.name,
        _SUMMARIES_FOR,
    )


async def postpone(
    connection: Connection, claimed: LeasedMessage, problem: str, after: timedelta, *, counts: bool
) -> None:
    """Makes a message wait for `after`; with `counts` the attempt counts."""
    await connection.execute(
        """
        update notification_messages
        set state = 'waiting', lease_until = null, problem = $3, due_at = clock_timestamp() + $4::interval,
            attempts = case when $5 then attempts else attempts - 1 end
        where id = $1 and state = 'sending' and attempts = $2
        """,
        claimed.id,
        claimed.attempts,
        problem,
        after,
        counts,
    )


async def mark_failed(
    connection: Connection, claimed: LeasedMessage, problem: str, try_again: timedelta | None
) -> None:
    """Ends a message as failed; its notifications wait for the next one. With `try_again`, the route counts as failing."""
    if not await _end(connection, claimed, "failed", problem):
        return
    await connection.execute(
        "update notification_tellings set message_id = null where message_id = $1", claimed.id
    )
    if try_again is not None:
        await connection.execute(
            """
            update notification_routes
            set failing_since = coalesce(failing_since, clock_timestamp()), problem = $2, try_again_at = clock_timestamp() + $3::interval
            where name = $1
            """,
            claimed.route.name,
            problem,
            try_again,
        )


async def _end(connection: Connection, claimed: LeasedMessage, state: str, problem: str | None) -> bool:
    """Ends a message; False if the lease ended and another replica has sent it since."""
    found = await connection.fetchval(
        """
        update notification_messages set state = $3, problem = $4, ended_at = clock_timestamp(), lease_until = null
        where id = $1 and state = 'sending' and attempts = $2 returning true
        """,
        claimed.id,
        claimed.attempts,
        state,
        problem,
    )
    return found is not None


async def due_summary(connection: Connection) -> tuple[NotificationRoute, datetime, datetime] | None:
    """Locks a route with a due summary; returns it with the due time and the database's time, or None."""
    row = await connection.fetchrow(
        """
        select r.*, clock_timestamp() as now from notification_routes as r
        where summary_due_at <= clock_timestamp() order by summary_due_at limit 1 for update skip locked
        """
    )
    return None if row is None else (route_of(row), row["summary_due_at"], row["now"])


async def set_summary_due(connection: Connection, route: str, due_at: datetime) -> None:
    await connection.execute(
        "update notification_routes set summary_due_at = $2 where name = $1", route, due_at
    )


async def fetch_messages(
    connection: Connection,
    *,
    route: str | None,
    state: str | None,
    before: UUID | None,
    limit: int,
    brands: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Messages, the newest first, that follow `before` if given; with `brands`, only those of these brands' routes."""
    rows = await connection.fetch(
        f"""
        select {_LOGGED} from notification_messages
        where ($1::text is null or route = $1) and ($2::text is null or state = $2)
          and ($5::text[] is null or brand_slug = any ($5))
          and ($3::uuid is null or (made_at, id) < (
            select made_at, id from notification_messages where id = $3 and ($5::text[] is null or brand_slug = any ($5))))
        order by made_at desc, id desc limit $4
        """,  # noqa: S608  (as above)
        route,
        state,
        before,
        limit,
        None if brands is None else list(brands),
    )
    return [dict(row) for row in rows]


async def fetch_message(connection: Connection, wanted: UUID) -> dict[str, Any] | None:
    row = await connection.fetchrow(f"select {_LOGGED} from notification_messages where id = $1", wanted)  # noqa: S608  (as above)
    return None if row is None else dict(row)
