"""SQL of webhooks: who they are, whose turn it is, and what became of each try."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope import new_event_id
from events.log import store as log_store
from events.log.domain import EventFilter
from events.webhooks.domain import TryOutcome, Webhook, WebhookState, WebhookTry

_COLUMNS: Final = (
    "w.subscription, w.brand_slug as brand, w.name, w.account, s.types, w.strict, w.state, w.problem, w.failures, w.failing_since,"
    " w.delivered_at, w.resend_until is not null as is_resending, s.missed_until, s.created_by, s.created_at"
)
_FROM: Final = "from webhooks w join subscriptions s on s.name = w.subscription"
_RESENT_AT_ONCE: Final = 500
"""Events of a resend that one round adds to those that wait."""
_PRUNED_AT_ONCE: Final = 5_000
_KEPT: Final = timedelta(days=30)


def subscription_of(brand: str, name: str) -> str:
    """Name of the subscription; no other one has a slash."""
    return f"{brand}/{name}"


# -- webhooks --------------------------------------------------------------------------------------------------------------


async def insert(connection: Connection, brand: str, name: str, account: str, *, strict: bool) -> None:
    await connection.execute(
        "insert into webhooks (subscription, brand_slug, name, account, strict) values ($1, $2, $3, $4, $5)",
        subscription_of(brand, name),
        brand,
        name,
        account,
        strict,
    )


async def change(
    connection: Connection, subscription: str, account: str, types: Sequence[str] | None, *, strict: bool
) -> None:
    await connection.execute(
        "update webhooks set account = $2, strict = $3, resume_at = clock_timestamp() where subscription = $1",
        subscription,
        account,
        strict,
    )
    await connection.execute("update subscriptions set types = $2 where name = $1", subscription, types)


async def find(connection: Connection, brand: str, name: str, *, lock: bool = False) -> Webhook | None:
    """With `lock`, other changes and the outcomes of tries wait until the transaction ends."""
    row = await connection.fetchrow(
        f"select {_COLUMNS} {_FROM} where w.brand_slug = $1 and w.name = $2 {'for no key update of w' if lock else ''}",
        brand,
        name,
    )
    return None if row is None else _webhook(row)


async def block_others(connection: Connection, brand: str) -> None:
    """Blocks others that make webhooks of the brand until the transaction ends."""
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))", f"events webhooks of {brand}"
    )


async def count(connection: Connection, brand: str) -> int:
    number: int = await connection.fetchval("select count(*) from webhooks where brand_slug = $1", brand)
    return number


async def page(
    connection: Connection,
    brands: Collection[str] | None,
    *,
    state: WebhookState | None = None,
    after: str | None,
    limit: int,
) -> list[Webhook]:
    """Up to `limit` webhooks of these brands (None: all), by brand and name; `after` is a `subscription`."""
    rows = await connection.fetch(
        f"select {_COLUMNS} {_FROM} where ($1::text[] is null or w.brand_slug = any ($1)) and ($2::text is null or w.state = $2)"
        ' and ($3::text is null or w.subscription collate "C" > $3) order by w.subscription collate "C" limit $4',
        None if brands is None else list(brands),
        state,
        after,
        limit,
    )
    return list(map(_webhook, rows))


async def remove(connection: Connection, subscription: str) -> None:
    # In this order: tries lock the webhook before its subscription.
    await connection.execute("delete from webhooks where subscription = $1", subscription)
    await connection.execute("delete from subscriptions where name = $1", subscription)


async def forget_brand(connection: Connection, brand: str) -> int:
    """Removes the webhooks of a brand, with everything that waits or is logged; returns their number."""
    rows = await connection.fetch("delete from webhooks where brand_slug = $1 returning subscription", brand)
    await connection.execute(
        "delete from subscriptions where name = any ($1)", [row["subscription"] for row in rows]
    )
    return len(rows)


async def turn_on(connection: Connection, subscription: str) -> None:
    await connection.execute(
        "update webhooks set state = 'on', problem = null, failures = 0, failing_since = null, resume_at = clock_timestamp()"
        " where subscription = $1 and state <> 'on'",
        subscription,
    )


async def turn_off(
    connection: Connection, subscription: str, state: WebhookState, problem: str | None
) -> None:
    await connection.execute(
        "update webhooks set state = $2, problem = $3 where subscription = $1", subscription, state, problem
    )


async def skip_waiting(connection: Connection, subscription: str) -> None:
    """Drops what waits, so that only new events are sent from now on. Dead letters stay."""
    await connection.execute(
        "delete from deliveries where subscription = $1 and died_at is null", subscription
    )
    await connection.execute(
        "update subscriptions set position = (select position from log_head) where name = $1", subscription
    )
    await connection.execute(
        "update webhooks set resend_after = null, resend_until = null where subscription = $1", subscription
    )


# -- turns -----------------------------------------------------------------------------------------------------------------


async def claim(
    connection: Connection, lease_id: UUID, lease: timedelta, *, busy: Collection[str]
) -> Webhook | None:
    """Takes the webhook whose turn it is, among those with something to send; other processes pass it over for the lease."""
    subscription = await connection.fetchval(
        """
        update webhooks set lease_id = $1, leased_until = clock_timestamp() + $2::interval, worked_at = clock_timestamp()
        where subscription = (
            select w.subscription from webhooks w join subscriptions s on s.name = w.subscription
            left join brand_heads b on b.brand_slug = w.brand_slug, log_head h
            where w.state = 'on' and w.resume_at <= clock_timestamp()
              and (w.leased_until is null or w.leased_until <= clock_timestamp()) and w.subscription <> all ($3::text[])
              -- Not by looking into the log: that takes a look into each of its days, for each webhook that has nothing to do.
              and (b.position > s.position
                   -- Once an hour also without events of the brand: its place follows the log then.
                   or (s.position < h.position
                       and coalesce(w.worked_at, '-infinity') < clock_timestamp() - interval '1 hour')
                   or w.resend_until is not null
                   or exists (select from deliveries d where d.subscription = w.subscription and d.died_at is null
                                and d.available_at <= clock_timestamp()))
            order by w.worked_at nulls first limit 1 for no key update of w skip locked)
        returning subscription
        """,
        lease_id,
        lease,
        list(busy),
    )
    return None if subscription is None else await _find(connection, subscription)


async def renew(connection: Connection, webhook: Webhook, lease_id: UUID, lease: timedelta) -> Webhook | None:
    """Locks the webhook and extends the lease; returns it as it is now, or None if it is off or another process has it."""
    subscription = await connection.fetchval(
        "update webhooks set leased_until = clock_timestamp() + $3::interval where subscription = $1 and lease_id = $2"
        " and state = 'on' and resume_at <= clock_timestamp() returning subscription",
        webhook.subscription,
        lease_id,
        lease,
    )
    return None if subscription is None else await _find(connection, subscription)


async def release(connection: Connection, webhook: Webhook, lease_id: UUID) -> None:
    await connection.execute(
        "update webhooks set lease_id = null, leased_until = null where subscription = $1 and lease_id = $2",
        webhook.subscription,
        lease_id,
    )


async def rest_until_first(connection: Connection, subscription: str) -> bool:
    """Has a webhook with order wait for its oldest event, if that is to be tried later; returns whether it waits."""
    waits = await connection.fetchval(
        "update webhooks set resume_at = d.available_at from (select available_at from deliveries"
        " where subscription = $1 and died_at is null order by position limit 1) as d"
        " where subscription = $1 and d.available_at > clock_timestamp() returning true",
        subscription,
    )
    return bool(waits)


async def rest(connection: Connection, subscription: str, pause: timedelta) -> None:
    await connection.execute(
        "update webhooks set resume_at = greatest(resume_at, clock_timestamp() + $2::interval) where subscription = $1",
        subscription,
        pause,
    )


# -- outcomes --------------------------------------------------------------------------------------------------------------


async def take_back(connection: Connection, subscription: str, lease_id: UUID, pause: timedelta) -> None:
    """Has an event sent later as if this try had not been."""
    await connection.execute(
        "update deliveries set number = number - 1, available_at = clock_timestamp() + $3::interval"
        " where subscription = $1 and lease_id = $2 and died_at is null",
        subscription,
        lease_id,
        pause,
    )


async def give_up(connection: Connection, subscription: str, lease_id: UUID) -> None:
    await connection.execute(
        "update deliveries set died_at = clock_timestamp() where subscription = $1 and lease_id = $2 and died_at is null",
        subscription,
        lease_id,
    )


async def note_delivery(connection: Connection, subscription: str) -> None:
    await connection.execute(
        "update webhooks set failures = 0, failing_since = null, delivered_at = clock_timestamp(),"
        " problem = case when state = 'failed' then problem end where subscription = $1",
        subscription,
    )


async def note_failure(
    connection: Connection, subscription: str, problem: str
) -> tuple[int, datetime, datetime] | None:
    """Counts a round without a delivery; returns the failures in a row, since when, and the time. None: the webhook is gone."""
    row = await connection.fetchrow(
        "update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()), problem = $2"
        " where subscription = $1 returning failures, failing_since, clock_timestamp() as now",
        subscription,
        problem,
    )
    return None if row is None else (row["failures"], row["failing_since"], row["now"])


async def note_problem(connection: Connection, subscription: str, problem: str) -> None:
    """Notes why nothing is sent, which is no failure of the receiver."""
    await connection.execute(
        "update webhooks set problem = $2 where subscription = $1 and state = 'on'", subscription, problem
    )


async def lock(connection: Connection, subscription: str) -> bool:
    """Locks the webhook, as everything that changes it does first; returns whether it is there."""
    found = await connection.fetchval(
        "select true from webhooks where subscription = $1 for no key update", subscription
    )
    return bool(found)


async def insert_tries(connection: Connection, subscription: str, tries: Sequence[WebhookTry]) -> None:
    await connection.executemany(
        "insert into webhook_tries (try_id, subscription, position, event_id, type, number, outcome, status, answer, problem, duration_ms)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        [
            (
                each.try_id,
                subscription,
                each.position,
                each.event_id,
                each.type,
                each.number,
                each.outcome,
                each.status,
                each.answer,
                each.problem,
                each.duration_ms,
            )
            for each in tries
        ],
    )


async def tries_page(
    connection: Connection,
    subscription: str,
    *,
    outcome: TryOutcome | None,
    event_id: UUID | None,
    after: UUID | None,
    limit: int,
) -> list[WebhookTry]:
    """Up to `limit` tries, the newest first."""
    rows = await connection.fetch(
        "select try_id, position, event_id, type, number, outcome, status, answer, problem, duration_ms, tried_at from webhook_tries"
        " where subscription = $1 and ($2::text is null or outcome = $2) and ($3::uuid is null or event_id = $3)"
        " and ($4::uuid is null or try_id < $4) order by try_id desc limit $5",
        subscription,
        outcome,
        event_id,
        after,
        limit,
    )
    return list(map(_try, rows))


async def find_try(connection: Connection, subscription: str, try_id: UUID) -> WebhookTry | None:
    row = await connection.fetchrow(
        "select try_id, position, event_id, type, number, outcome, status, answer, problem, duration_ms, tried_at from webhook_tries"
        " where subscription = $1 and try_id = $2",
        subscription,
        try_id,
    )
    return None if row is None else _try(row)


async def prune_tries(connection: Connection) -> None:
    """Deletes tries of more than 30 days ago."""
    while True:
        status = await connection.execute(
            "delete from webhook_tries where try_id in (select try_id from webhook_tries"
            " where tried_at < clock_timestamp() - $1::interval limit $2)",
            _KEPT,
            _PRUNED_AT_ONCE,
        )
        if int(status.rpartition(" ")[2]) < _PRUNED_AT_ONCE:
            return


# -- sending again ---------------------------------------------------------------------------------------------------------


async def resend(connection: Connection, subscription: str, positions: Collection[int]) -> int:
    """Has events sent anew that are delivered or given up; those that wait already are left alone. Returns how many."""
    rows = await connection.fetch(
        "insert into deliveries (subscription, position, lease_id, available_at, number)"
        " select $1, position, lease_id, clock_timestamp(), 0 from unnest($2::bigint[], $3::uuid[]) as d (position, lease_id)"
        " on conflict (subscription, position) do update set died_at = null, number = 0, available_at = clock_timestamp()"
        " where deliveries.died_at is not null returning position",
        subscription,
        list(positions),
        [new_event_id() for _ in positions],
    )
    return len(rows)


async def resend_began_at(connection: Connection, subscription: str) -> int | None:
    """The place after which events are being sent again; None: none are."""
    began: int | None = await connection.fetchval(
        "select resend_from from webhooks where subscription = $1 and resend_until is not null", subscription
    )
    return began


async def begin_resend(connection: Connection, subscription: str, after: int) -> bool:
    """Has all events after this place sent again that were sent already; returns False if others are being sent again now."""
    begun = await connection.fetchval(
        "update webhooks w set resend_from = $2, resend_after = $2, resend_until = s.position from subscriptions s"
        " where w.subscription = $1 and s.name = $1 and w.resend_until is null returning true",
        subscription,
        after,
    )
    return bool(begun)


async def continue_resend(connection: Connection, webhook: Webhook, room: int) -> None:
    """Adds the next events of a resend to those that wait, as far as there is room. The caller has locked the webhook."""
    row = await connection.fetchrow(
        "select resend_after, resend_until from webhooks where subscription = $1", webhook.subscription
    )
    if row is None or row["resend_until"] is None or room <= 0:
        return
    after, until = row["resend_after"], row["resend_until"]
    found = await log_store.read(connection, _wanted(webhook), after=after, limit=min(room, _RESENT_AT_ONCE))
    positions = [each.position for each in found.events if each.position <= until]
    await resend(connection, webhook.subscription, positions)
    is_over = not found.is_more or found.position >= until
    await connection.execute(
        "update webhooks set resend_after = $2, resend_until = $3 where subscription = $1",
        webhook.subscription,
        None if is_over else found.position,
        None if is_over else until,
    )


async def waiting(connection: Connection, subscription: str, most: int) -> int:
    """Events that wait to be sent again or are under way, counted up to `most`."""
    number: int = await connection.fetchval(
        "select count(*) from (select from deliveries where subscription = $1 and died_at is null limit $2) as d",
        subscription,
        most,
    )
    return number


def _wanted(webhook: Webhook) -> EventFilter:
    return EventFilter(
        frozenset({webhook.brand}), None if webhook.types is None else frozenset(webhook.types)
    )


async def _find(connection: Connection, subscription: str) -> Webhook | None:
    row = await connection.fetchrow(
        f"select {_COLUMNS} {_FROM} where w.subscription = $1",
        subscription,
    )
    return None if row is None else _webhook(row)


def _webhook(row: Any) -> Webhook:
    fields = dict(row)
    fields["types"] = None if fields["types"] is None else tuple(fields["types"])
    return Webhook(**fields | {"state": WebhookState(fields["state"])})


def _try(row: Any) -> WebhookTry:
    fields = dict(row)
    for name in ("try_id", "event_id"):
        fields[name] = UUID(int=fields[name].int)
    return WebhookTry(**fields | {"outcome": TryOutcome(fields["outcome"])})
