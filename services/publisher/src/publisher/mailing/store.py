"""Newsletters in the publisher's database: each statement beside the function that runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug
from publisher.mailing.addresses import address_digest, mailbox_digest, network_digest

CONFIRM_WITHIN: Final = timedelta(days=3)
MOST_BOUNCES: Final = 3
"""Letters in a row to an unknown address, after which the subscription ends."""
_OF_A_BRAND: Final = 1
_OF_ALL_BRANDS: Final = 3
"""Requests to confirm that one mailbox gets within a day."""
_ALL_BRANDS: Final = 10
"""All brands together take so many times the sign-ups of one in an hour."""
_OF_A_NETWORK: Final = 5
"""One network takes a fifth of a brand's sign-ups in an hour, over all brands, so that nobody uses them up alone."""
_OLDEST: Final = timedelta(days=7)
"""What has waited longer is not sent any more: it is no news."""


@dataclass(frozen=True, slots=True)
class Newsletter:
    """A brand's newsletter that is on."""

    account: str
    turned_on_at: datetime
    problem: str


@dataclass(frozen=True, slots=True)
class SubscriptionCounts:
    confirmed: int
    pending: int
    ended: int
    signed_up: int
    """Sign-ups in the last 30 days that were not forgotten since."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    id: UUID
    address: str
    state: str
    signed_up_at: datetime
    confirmed_at: datetime | None
    bounces: int


@dataclass(frozen=True, slots=True)
class LetterCounts:
    """A letter with the numbers of its deliveries by state."""

    content_id: UUID
    title: str | None
    """None: the page was deleted."""
    slug: str | None
    made_at: datetime
    due_at: datetime
    addressed_at: datetime | None
    waiting: int
    sent: int
    failed: int
    in_doubt: int


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process alone sends, until the claim ends."""

    letter_id: UUID
    subscriber_id: UUID
    brand: BrandSlug
    kind: str
    attempts: int
    """Including this one."""
    address: str
    account: str


async def key_of_installation(connection: Connection) -> bytes:
    key: bytes = await connection.fetchval("select key from newsletter_keys")
    return key


async def find(connection: Connection, brand: str) -> Newsletter | None:
    row = await connection.fetchrow(
        "select account, turned_on_at, problem from newsletters where brand_slug = $1", brand
    )
    return None if row is None else Newsletter(**row)


async def turn_on(connection: Connection, brand: str, account: str) -> None:
    """Turns the newsletter on, or sends by another account; what waits is tried again at once."""
    await connection.execute(
        """
        insert into newsletters (brand_slug, account) values ($1, $2)
        on conflict (brand_slug) do update set account = excluded.account, paused_until = null, problem = ''
        """,
        brand,
        account,
    )
    await _show_on_pages(connection, brand)


async def turn_off(connection: Connection, brand: str) -> None:
    """Sends nothing more; who subscribed stays subscribed."""
    await connection.execute("delete from newsletters where brand_slug = $1", brand)
    await connection.execute(
        "delete from newsletter_deliveries where brand_slug = $1 and state = 'waiting'", brand
    )
    await connection.execute(
        "delete from newsletter_letters where brand_slug = $1 and addressed_at is null", brand
    )
    await _show_on_pages(connection, brand)


async def _show_on_pages(connection: Connection, brand: str) -> None:
    await connection.execute("update sites set changed_at = clock_timestamp() where brand_slug = $1", brand)


SignUpRefusal = Literal["too_many", "too_many_here"]
"""There were too many sign-ups in an hour: for the brand, or from the visitor's network."""


async def sign_up(
    connection: Connection, brand: str, address: str, *, per_hour: int, network: str | None = None
) -> SignUpRefusal | None:
    """Asks the address to confirm, unless it subscribes already or was asked today. Returns why not if there were too many sign-ups.

    The answer does not depend on the address. A repeated sign-up makes earlier links void. `network` is that of the visitor; None
    if it is not known.
    """
    key = await key_of_installation(connection)
    await _lock(connection, f"brand.{brand}")
    counted = await connection.fetchrow(
        """
        select count(*) filter (where brand_slug = $1) as here, count(*) as everywhere
        from newsletter_sign_ups where at > clock_timestamp() - interval '1 hour'
        """,
        brand,
    )
    assert counted is not None
    if counted["here"] >= per_hour or counted["everywhere"] >= per_hour * _ALL_BRANDS:
        return "too_many"
    # Always in this order: two sign-ups never wait for each other in a circle.
    visitor = None if network is None else network_digest(key, network)
    if visitor is not None:
        await _lock(connection, f"network.{visitor.hex()}")
        from_here = await connection.fetchval(
            """
            select count(*) from newsletter_sign_ups
            where network_digest = $1 and at > clock_timestamp() - interval '1 hour'
            """,
            visitor,
        )
        if from_here >= max(1, per_hour // _OF_A_NETWORK):
            return "too_many_here"
    mailbox = mailbox_digest(key, address)
    await _lock(connection, f"mailbox.{mailbox.hex()}")
    asked = await connection.fetchrow(
        """
        select count(*) filter (where brand_slug = $2) as here, count(*) as everywhere
        from newsletter_sign_ups where address_digest = $1 and at > clock_timestamp() - interval '1 day'
        """,
        mailbox,
        brand,
    )
    assert asked is not None
    await connection.execute(
        "insert into newsletter_sign_ups (brand_slug, address_digest, network_digest) values ($1, $2, $3)",
        brand,
        mailbox,
        visitor,
    )
    if asked["here"] >= _OF_A_BRAND or asked["everywhere"] >= _OF_ALL_BRANDS:
        return None
    await connection.execute(
        """
        with asked as (
            insert into newsletter_subscribers as known (brand_slug, address_digest, address, state) values ($1, $2, $3, 'pending')
            on conflict (brand_slug, address_digest) do update
                set (address, state, sign_up_id, signed_up_at, confirmed_at, ended_at, bounces)
                    = (excluded.address, 'pending', gen_random_uuid(), clock_timestamp(), null, null, 0)
                where known.state <> 'confirmed'
            returning id, sign_up_id)
        insert into newsletter_deliveries (letter_id, subscriber_id, brand_slug, kind)
        select sign_up_id, id, $1, 'confirmation' from asked
        """,
        brand,
        address_digest(key, brand, address),
        address,
    )
    return None


async def _lock(connection: Connection, what: str) -> None:
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended('publisher.newsletter.' || $1::text, 0))", what
    )


async def sign_up_of(connection: Connection, brand: str, subscriber: UUID) -> UUID | None:
    """The sign-up that waits for confirmation, or was confirmed; None without one, or if it is too old."""
    found: UUID | None = await connection.fetchval(
        """
        select sign_up_id from newsletter_subscribers
        where id = $1 and brand_slug = $2 and state in ('pending', 'confirmed')
              and (state = 'confirmed' or signed_up_at > clock_timestamp() - $3::interval)
        """,
        subscriber,
        brand,
        CONFIRM_WITHIN,
    )
    return found


async def confirm(connection: Connection, subscriber: UUID, sign_up: UUID) -> None:
    """Begins the subscription; the same again changes nothing."""
    await connection.execute(
        """
        update newsletter_subscribers set state = 'confirmed', confirmed_at = clock_timestamp()
        where id = $1 and sign_up_id = $2 and state = 'pending'
        """,
        subscriber,
        sign_up,
    )


async def end(connection: Connection, brand: str, subscriber: UUID, state: str) -> bool:
    """Ends a subscription and forgets the address. Returns whether there was one."""
    ended = await connection.fetchval(
        """
        update newsletter_subscribers set state = $3, address = null, ended_at = clock_timestamp()
        where id = $1 and brand_slug = $2 and address is not null returning true
        """,
        subscriber,
        brand,
        state,
    )
    await connection.execute(
        "delete from newsletter_deliveries where subscriber_id = $1 and state = 'waiting'", subscriber
    )
    return bool(ended)


async def address_letters(connection: Connection) -> None:
    """Addresses due letters to all who subscribe by now; a page that is not visible gets none."""
    await connection.execute(
        """
        with due as (
            select content_id, brand_slug from newsletter_letters
            where addressed_at is null and due_at <= clock_timestamp() order by due_at limit 20 for update skip locked),
        addressed as (
            update newsletter_letters as letter set addressed_at = clock_timestamp() from due where letter.content_id = due.content_id)
        insert into newsletter_deliveries (letter_id, subscriber_id, brand_slug, kind)
        select due.content_id, s.id, due.brand_slug, 'letter'
        from due join pages using (content_id, brand_slug) join newsletters using (brand_slug)
             join newsletter_subscribers as s using (brand_slug)
        where taken_down_at is null and s.state = 'confirmed'
        on conflict do nothing
        """
    )


async def tidy(connection: Connection) -> None:
    """Forgets unconfirmed sign-ups, gives up deliveries that are too old, and puts in doubt those of lost processes."""
    await connection.execute(
        "delete from newsletter_sign_ups where at < clock_timestamp() - interval '1 day'"
    )
    await connection.execute(
        "delete from newsletter_subscribers where state = 'pending' and signed_up_at < clock_timestamp() - $1::interval",
        CONFIRM_WITHIN,
    )
    await connection.execute(
        """
        update newsletter_deliveries set state = 'failed', ended_at = clock_timestamp(), reason = 'it waited for a week'
        where state = 'waiting' and made_at < clock_timestamp() - $1::interval
        """,
        _OLDEST,
    )
    await connection.execute(
        """
        update newsletter_deliveries set state = 'in_doubt', ended_at = clock_timestamp(), reason = 'the publisher stopped while it was sent'
        where state = 'sending' and due_at < clock_timestamp()
        """
    )


async def claim(connection: Connection, hold: timedelta) -> ClaimedDelivery | None:
    """Claims the next due delivery of a newsletter that is not paused; None if nothing is due."""
    row = await connection.fetchrow(
        """
        update newsletter_deliveries as d set state = 'sending', attempts = d.attempts + 1, due_at = clock_timestamp() + $1::interval
        from (
            select letter_id, subscriber_id, account, s.address from newsletter_deliveries join newsletters using (brand_slug)
                 join newsletter_subscribers as s on s.id = subscriber_id
            where newsletter_deliveries.state = 'waiting' and due_at <= clock_timestamp()
                  and (paused_until is null or paused_until <= clock_timestamp())
                  and (s.state = 'confirmed' and kind = 'letter' or s.state = 'pending' and letter_id = s.sign_up_id)
            order by kind, due_at limit 1 for update of newsletter_deliveries skip locked) as next
        where d.letter_id = next.letter_id and d.subscriber_id = next.subscriber_id
        returning d.letter_id, d.subscriber_id, d.brand_slug as brand, d.kind, d.attempts, next.address, next.account
        """,
        hold,
    )
    return None if row is None else ClaimedDelivery(**row)


async def settle(connection: Connection, sent: ClaimedDelivery, state: str, reason: str = "") -> None:
    """Records the outcome of a delivery."""
    await connection.execute(
        """
        update newsletter_deliveries set state = $4, reason = $5, ended_at = clock_timestamp()
        where letter_id = $1 and subscriber_id = $2 and attempts = $3 and state in ('sending', 'in_doubt')
        """,
        sent.letter_id,
        sent.subscriber_id,
        sent.attempts,
        state,
        reason[:300],
    )


async def put_back(
    connection: Connection, sent: ClaimedDelivery, pause: timedelta, *, counts: bool, reason: str
) -> None:
    """Returns a delivery that certainly did not go out."""
    await connection.execute(
        """
        update newsletter_deliveries
        set state = 'waiting', due_at = clock_timestamp() + $4::interval, attempts = attempts - case when $5 then 0 else 1 end, reason = $6
        where letter_id = $1 and subscriber_id = $2 and attempts = $3 and state = 'sending'
        """,
        sent.letter_id,
        sent.subscriber_id,
        sent.attempts,
        pause,
        counts,
        reason[:300],
    )


async def pause(connection: Connection, brand: str, lasts: timedelta, problem: str) -> None:
    await connection.execute(
        "update newsletters set paused_until = clock_timestamp() + $2::interval, problem = $3 where brand_slug = $1",
        brand,
        lasts,
        problem[:300],
    )


async def note_success(connection: Connection, sent: ClaimedDelivery) -> None:
    await connection.execute(
        "update newsletters set problem = '', paused_until = null where brand_slug = $1 and problem <> ''",
        sent.brand,
    )
    await connection.execute(
        "update newsletter_subscribers set bounces = 0 where id = $1 and bounces > 0", sent.subscriber_id
    )


async def note_bounce(connection: Connection, sent: ClaimedDelivery) -> None:
    """Counts a letter to an unknown address; ends the subscription after some, and a sign-up at once."""
    if sent.kind == "confirmation":
        await connection.execute(
            "delete from newsletter_subscribers where id = $1 and state = 'pending'", sent.subscriber_id
        )
        return
    bounces = await connection.fetchval(
        "update newsletter_subscribers set bounces = bounces + 1 where id = $1 returning bounces",
        sent.subscriber_id,
    )
    if bounces is not None and bounces >= MOST_BOUNCES:
        await end(connection, sent.brand, sent.subscriber_id, "bounced")


async def send_again(connection: Connection, brand: str, content_id: UUID) -> int:
    """Sends a letter again to the subscribers in doubt; returns their number."""
    rows = await connection.fetch(
        """
        update newsletter_deliveries set state = 'waiting', due_at = clock_timestamp(), made_at = clock_timestamp(), ended_at = null
        where letter_id = $1 and brand_slug = $2 and state = 'in_doubt'
              and subscriber_id in (select id from newsletter_subscribers where state = 'confirmed')
        returning 1
        """,
        content_id,
        brand,
    )
    return len(rows)


async def counts(connection: Connection, brand: str) -> SubscriptionCounts:
    row = await connection.fetchrow(
        """
        select count(*) filter (where state = 'confirmed') as confirmed, count(*) filter (where state = 'pending') as pending,
               count(*) filter (where state in ('left', 'bounced', 'removed')) as ended,
               count(*) filter (where signed_up_at > clock_timestamp() - interval '30 days') as signed_up
        from newsletter_subscribers where brand_slug = $1
        """,
        brand,
    )
    assert row is not None
    return SubscriptionCounts(**row)


async def is_used(connection: Connection) -> bool:
    """Returns whether a brand has a newsletter, or had sign-ups that are not forgotten yet."""
    found: bool = await connection.fetchval(
        "select exists (select from newsletters) or exists (select from newsletter_sign_ups)"
    )
    return found


async def subscribers(
    connection: Connection, brand: str, *, state: str | None, after: UUID | None, limit: int
) -> Sequence[Subscriber]:
    """Subscribers with a stored address, in the order of their ids."""
    rows = await connection.fetch(
        """
        select id, address, state, signed_up_at, confirmed_at, bounces from newsletter_subscribers
        where brand_slug = $1 and address is not null and ($2::text is null or state = $2) and ($3::uuid is null or id > $3)
        order by id limit $4
        """,
        brand,
        state,
        after,
        limit,
    )
    return [Subscriber(**row) for row in rows]


async def letters(
    connection: Connection, brand: str, *, after: datetime | None, limit: int
) -> Sequence[LetterCounts]:
    """Letters with the numbers of their deliveries, the newest first."""
    rows: Sequence[Any] = await connection.fetch(
        """
        select letter.content_id, pages.title, pages.slug, letter.made_at, letter.due_at, letter.addressed_at, counted.*
        from newsletter_letters as letter left join pages using (content_id, brand_slug)
             cross join lateral (
                 select count(*) filter (where state in ('waiting', 'sending')) as waiting, count(*) filter (where state = 'sent') as sent,
                        count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'in_doubt') as in_doubt
                 from newsletter_deliveries where letter_id = letter.content_id) as counted
        where letter.brand_slug = $1 and ($2::timestamptz is null or letter.made_at < $2)
        order by letter.made_at desc limit $3
        """,
        brand,
        after,
        limit,
    )
    return [LetterCounts(**row) for row in rows]
