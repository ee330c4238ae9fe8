"""From findings to messages: each is sent once on each route, on any number of replicas."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.responses import Response

from chassis.quiet_hours import QuietHours
from chassis.testing import eventually
from envelope import DomainMessage, new_event_id
from messaging import Database, DeadLetter
from monitor.dead_letters import DeadLetterOperations
from monitor.dead_letters.decision_store import OperatorDecision
from monitor.notifications.domain import SummarySchedule, Weekday

NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]
Office = Any
Outside = Any
KNOWN = OperatorDecision("ops", "known")
SECRET = "hunter2-is-the-customers-password"


def titles(outside: Outside, account: str) -> list[str]:
    return [each["json"]["data"]["title"] for each in outside.sent[account]]


async def messages(office: Office) -> list[tuple[str, str, str, int]]:
    rows = await office.rows(
        "select route, purpose, state, attempts from notification_messages order by made_at, id"
    )
    return [tuple(row.values()) for row in rows]


async def test_a_hundred_that_failed_alike_are_one_message_and_resolved_once(
    office: Office, outside: Outside, record: Record, new_death: NewDeath, database: Database
) -> None:
    await office.set_route("ops")
    ids = await record(*(new_death(detail=f"{SECRET} of order {number}") for number in range(100)))

    for _ in range(3):
        await office.turn()

    assert titles(outside, "ops") == ["daily-grind: Dead letters on publisher-commands: Gone (100)"]
    (sent,) = outside.sent["ops"]
    (item,) = sent["json"]["data"]["items"]
    assert (item["count"], item["kind"], item["brand"]) == (100, "dead_letters", "daily-grind")
    # An address of the API would want a header, which nobody can send by opening it.
    assert (item["link"], "/v1/" in json.dumps(sent)) == (None, False)
    assert item["command"].startswith("brandctl dead-letters list --group ")
    assert SECRET not in json.dumps(sent)

    operations = DeadLetterOperations(database)
    for dead in ids:
        await operations.discard(dead, KNOWN)
    for _ in range(3):
        await office.turn()
    assert titles(outside, "ops")[1:] == [
        "Resolved: daily-grind: Dead letters on publisher-commands: Gone (100)"
    ]


async def test_what_is_over_before_anybody_was_told_is_not_told(
    office: Office, outside: Outside, record: Record, new_death: NewDeath, database: Database
) -> None:
    await office.set_route("ops", group_seconds=600)
    (dead,) = await record(new_death())
    await office.turn()
    await DeadLetterOperations(database).discard(dead, KNOWN)
    await office.look()
    await office.run("update notification_routes set group_seconds = 0")
    await office.tell()
    assert outside.sent == {}
    assert await office.rows("select from notification_tellings where closed_at is null") == []


async def test_a_route_that_fails_keeps_no_other_and_is_told_of_on_them(
    office: Office,
    outside: Outside,
    record: Record,
    new_death: NewDeath,
    gateway_refuses: Callable[..., Response],
) -> None:
    async def gone() -> Response:
        return gateway_refuses(
            424, "account.needs_reconnecting", "pager: the token has expired: connect again"
        )

    outside.answers["pager"] = gone
    await office.set_route("pager")
    await office.set_route("ops")
    await office.set_route("acme-hook", brand="acme")
    await record(new_death())

    for _ in range(2):
        await office.turn()

    assert titles(outside, "ops") == [
        "daily-grind: Dead letters on publisher-commands: Gone (1)",
        "Critical: Notifications do not arrive on route pager",
    ]
    assert outside.sent["acme-hook"] == []
    (failing,) = await office.rows(
        "select name, problem from notification_routes where failing_since is not null"
    )
    assert failing == {"name": "pager", "problem": "pager: the token has expired: connect again"}
    assert ("pager", "news", "failed", 1) in await messages(office)
    asked = len(outside.asked)
    await office.tell()
    assert outside.asked[asked:] == [], "a route that fails is not tried again at once"

    # What could not be said meanwhile is said in one piece, and that the route works again, too.
    del outside.answers["pager"]
    await record(new_death(queue="social-commands"))
    await office.look()
    await office.run("update notification_routes set try_again_at = now() where failing_since is not null")
    await office.tell()
    await office.turn()
    assert titles(outside, "pager") == ["2 notifications"]
    assert titles(outside, "ops")[-1] == "Resolved: Notifications do not arrive on route pager"


async def test_a_route_that_hangs_keeps_no_other(
    office: Office,
    outside: Outside,
    record: Record,
    new_death: NewDeath,
    gateway_says: Callable[..., Response],
) -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def hang() -> Response:
        asked.set()
        await release.wait()
        return gateway_says()

    outside.answers["pager"] = hang
    for name in ("pager", "ops"):
        await office.set_route(name)
    await record(new_death())
    await office.look()
    telling = asyncio.create_task(office.tell())
    async with asyncio.timeout(60):
        await asked.wait()
        await eventually(lambda: bool(outside.sent["ops"]))
        assert outside.sent["pager"] == []
        release.set()
        await telling
    assert len(outside.sent["pager"]) == 1


async def test_what_fails_is_tried_again_after_1_5_and_30_minutes_with_the_same_id(
    office: Office,
    outside: Outside,
    record: Record,
    new_death: NewDeath,
    gateway_says: Callable[..., Response],
) -> None:
    bodies: list[int] = []

    async def broken() -> Response:
        bodies.append(1)
        return gateway_says(status=502, json=None, text="bad gateway")

    outside.answers["ops"] = broken
    await office.set_route("ops")
    await record(new_death())
    await office.look()
    row: dict[str, Any] = {}
    waits = []
    for _ in range(3):
        await office.tell()
        (row,) = await office.rows(
            "select id, state, problem, round(extract(epoch from due_at - now()) / 60)::int as minutes from notification_messages"
        )
        waits.append((row["state"], row["minutes"]))
        await office.tell()
        await office.run("update notification_messages set due_at = now()")
    assert waits == [("waiting", 1), ("waiting", 5), ("waiting", 30)]
    assert row["problem"] == "webhook answered 502: bad gateway"
    del outside.answers["ops"]
    await office.tell()
    assert len(bodies) == 3
    assert outside.sent["ops"][0]["headers"] == {"webhook-id": f"msg_{row['id']}"}
    assert await messages(office) == [("ops", "news", "sent", 4)]


async def test_while_the_gateway_is_away_nothing_counts_and_nothing_is_lost(
    office: Office, outside: Outside, record: Record, new_death: NewDeath
) -> None:
    await office.set_route("ops")
    await record(new_death())
    await office.look()
    outside.away = True
    for _ in range(6):
        await office.tell()
        await office.run("update notification_messages set due_at = now()")
    assert await messages(office) == [("ops", "news", "waiting", 0)]
    outside.away = False
    await office.tell()
    assert await messages(office) == [("ops", "news", "sent", 1)]


async def test_who_crashes_while_sending_leaves_it_to_the_next_with_the_same_id(
    make_office: Callable[[], Office], office: Office, outside: Outside, record: Record, new_death: NewDeath
) -> None:
    began, over = asyncio.Event(), asyncio.Event()

    async def crash() -> Response:
        began.set()
        await over.wait()
        return Response(status_code=500)

    outside.answers["ops"] = crash
    await office.set_route("ops")
    await record(new_death())
    await office.look()
    telling = asyncio.create_task(office.tell())
    async with asyncio.timeout(60):
        await began.wait()
    for task in office.notifier._sending.values():
        task.cancel()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    del outside.answers["ops"]

    other = make_office()
    await other.tell()
    assert outside.sent["ops"] == [], "its lease is not over"
    await office.run("update notification_messages set lease_until = now() - interval '1 second'")
    (left,) = await office.rows("select id from notification_messages")
    await other.tell()
    assert [each["headers"]["webhook-id"] for each in outside.sent["ops"]] == [f"msg_{left['id']}"]
    over.set()


async def test_of_two_replicas_one_tells(
    make_office: Callable[[], Office], office: Office, outside: Outside, record: Record, new_death: NewDeath
) -> None:
    other = make_office()
    await office.set_route("ops", summary=SummarySchedule(Weekday.MONDAY, time(8), ZoneInfo("UTC")))
    await record(*(new_death() for _ in range(5)))
    for _ in range(3):
        await asyncio.gather(office.turn(), other.turn())
    purposes = sorted(each["json"]["type"] for each in outside.sent["ops"])
    assert purposes == ["notification.news", "notification.summary"]


async def test_quiet_hours_hold_back_until_they_are_over(
    office: Office, outside: Outside, record: Record, new_death: NewDeath, new_account: Callable[..., Any]
) -> None:
    now = datetime.now(UTC)
    around = QuietHours(
        (now - timedelta(hours=2)).time().replace(microsecond=0),
        (now + timedelta(hours=2)).time().replace(microsecond=0),
        ZoneInfo("UTC"),
    )
    await office.set_route("ops", quiet_hours=around)
    await record(new_death(), new_death(queue="social-commands"))
    outside.accounts.append(new_account("x", "x", state="needs_reconnecting", detail="the token has expired"))
    await office.turn()
    assert titles(outside, "ops") == ["Critical: Account x (x) has to be connected again"]
    await office.run("update notification_routes set quiet_hours = null")
    await office.tell()
    assert titles(outside, "ops")[1:] == ["2 notifications"]


async def test_a_brands_route_is_told_of_the_brand_alone(
    office: Office, outside: Outside, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    def of(brand: str) -> bytes:
        payload = {"brand_slug": brand, "content_id": str(new_event_id()), "target": "site"}
        return new_envelope(payload=payload)

    await office.set_route("acme-hook", brand="acme")
    await office.set_route("ops", kinds=("budgets",))
    await record(new_death(of("acme")), new_death(of("rival")), new_death(b"no envelope"))
    outside.spend["scopes"] = [
        {
            "scope": scope,
            "day": {"spent": 900_000, "reserved": 0, "cap": cap, "ends_at": "2026-03-03T00:00:00+00:00"},
            "month": {"spent": 900_000, "reserved": 0, "cap": None, "ends_at": "2026-04-01T00:00:00+00:00"},
            "stopped": None,
        }
        for scope, cap in (("*", 1_000_000), ("rival", 2_000_000))
    ]
    await office.turn()
    assert titles(outside, "acme-hook") == ["acme: Dead letters on publisher-commands: Gone (1)"]
    assert titles(outside, "ops") == ["The day's budget of all brands together is nearly used up"]
    (item,) = outside.sent["ops"][0]["json"]["data"]["items"]
    assert item["detail"] == "$0.90 of $1.00; a new day begins 2026-03-03 00:00 UTC"

    outside.spend["scopes"][0]["day"]["spent"] = 1_000_000
    await office.turn()
    assert titles(outside, "ops")[1:] == [
        "Critical: Still: The day's budget of all brands together is used up"
    ]


BRAND = {
    "brand_slug": "acme", "name": "Acme", "drafts_waiting": 2, "posts_waiting": 1,
    "waiting_since": "2026-03-01T00:00:00Z", "held_up": False, "audit": None,
    "recently": {"published": 3, "posts": 6, "refused": 1, "failed": 0},
}  # fmt: skip


async def test_what_waits_and_what_an_audit_found_is_told_once(office: Office, outside: Outside) -> None:
    await office.set_route("ops")
    audit = {
        "audit_id": str(new_event_id()),
        "made_at": datetime.now(UTC).isoformat(),
        "counts": {"dead_link": 2, "stale": 0},
    }
    outside.activity = [BRAND]
    await office.turn()
    outside.activity = [BRAND | {"audit": audit}]
    for _ in range(2):
        await office.turn()
    outside.activity = [BRAND | {"drafts_waiting": 0, "posts_waiting": 0}]
    for _ in range(2):
        await office.turn()
    assert titles(outside, "ops") == [
        "2 notifications",
        "acme: An audit found 2 dead link",
    ]
    # That somebody has decided, that one knows: it is not worth a word.
    assert await office.rows("select from notifications where resolved_at is null and not is_event") == []


async def test_the_summary_of_the_week_comes_when_it_is_due_and_says_what_is_missing(
    office: Office, outside: Outside, record: Record, new_death: NewDeath
) -> None:
    mondays = SummarySchedule(Weekday.MONDAY, time(8), ZoneInfo("UTC"))
    rival = BRAND | {"brand_slug": "rival", "drafts_waiting": 0, "posts_waiting": 0}
    receipt = {"kind": "mastodon", "account": "acme-mastodon", "brand_slug": "acme", "state": "in_doubt"}
    outside.receipts = [receipt | {"receipt_id": str(UUID(int=1)), "subject": "post on mastodon about tea"}]
    outside.activity = [BRAND, rival | {"recently": {"published": 1, "posts": 1, "refused": 0, "failed": 4}}]
    outside.spend["scopes"] = [
        {
            "scope": "*",
            "day": {"spent": 0, "reserved": 0, "cap": None, "ends_at": "2026-03-03T00:00:00+00:00"},
            "month": {
                "spent": 12_345_678,
                "reserved": 0,
                "cap": 50_000_000,
                "ends_at": "2026-04-01T00:00:00+00:00",
            },
            "stopped": None,
        }
    ]
    await record(new_death())
    await office.set_route("ops", kinds=("routes",), summary=mondays)
    await office.turn()
    await office.turn()

    waiting = "Waiting for a person: 2 drafts."
    (sent,) = outside.sent["ops"]
    assert sent["json"]["data"]["title"].startswith("The week of all brands: ")
    assert sent["json"]["data"]["paragraphs"] == [
        f"2 brands. 4 articles published, 1 keyword without an article, 4 failed. {waiting} In doubt, look whether it is there: 1.",
        f"acme: 3 articles published, 1 keyword without an article, none failed. {waiting} In doubt, look whether it is there: 1.",
        "rival: 1 article published, 4 failed. Nothing waits for a person.",
        "What was posted is not known here: SOCIAL_URL is not set.",
        "Spent: $12.35 of the $50.00 that may be spent this month.",
        "1 message died, 1 of all that ever did wait for a decision.",
    ]
    (route,) = await office.rows("select summary_due_at > now() as later from notification_routes")
    assert route == {"later": True}


async def test_a_service_that_is_away_is_told_of_and_what_stood_goes_on_standing(
    office: Office, outside: Outside, new_account: Callable[..., Any]
) -> None:
    outside.accounts.append(new_account("x", "x", state="expiring", expires_at="2026-03-09T00:00:00+00:00"))
    await office.set_route("ops")
    await office.turn()
    outside.away = True
    await office.look()
    await office.run("update notification_sources set failing_since = failing_since - interval '11 minutes'")
    await office.look()
    standing = await office.rows(
        "select kind, title from notifications where resolved_at is null order by title"
    )
    assert [each["title"] for each in standing] == [
        "Account x (x) will have to be connected again",
        "Social does not answer",
        "The gateway does not answer",
        "The orchestrator does not answer",
    ]
    outside.away = False
    await office.turn()
    assert [
        each["kind"] for each in await office.rows("select kind from notifications where resolved_at is null")
    ] == ["accounts"]


async def test_nobody_is_asked_before_there_is_a_route(office: Office, outside: Outside) -> None:
    assert not await office.poller.poll(office.sources[0])
    assert outside.asked == []
    assert await office.rows("select from notification_sources") == []


async def test_what_is_in_doubt_is_told_one_by_one(office: Office, outside: Outside) -> None:
    receipt = {"kind": "mastodon", "account": "acme-mastodon", "brand_slug": "acme", "state": "in_doubt"}
    outside.receipts = [
        receipt | {"receipt_id": str(UUID(int=number)), "subject": f"post on mastodon about tea {number}"}
        for number in (1, 2)
    ]
    await office.set_route("ops")
    await office.turn()
    outside.receipts = outside.receipts[:1]
    await office.turn()
    assert titles(outside, "ops") == [
        "2 notifications",
        "Resolved: acme: In doubt, look whether it is there: post on mastodon about tea 2",
    ]
    commands = {each["command"] for each in outside.sent["ops"][0]["json"]["data"]["items"]}
    assert f"brandctl receipts show {UUID(int=1)}" in commands
