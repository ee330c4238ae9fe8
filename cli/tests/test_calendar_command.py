"""`brandctl calendar` as a process of its own, beside the APIs of an orchestrator and of social."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import icalendar
import pytest
from pydantic import SecretStr
from starlette.responses import Response

from brandctl.calendar import commands, weeks
from brandctl.errors import UsageError
from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from client.connections import Address
from client.services.orchestrator import Orchestrator
from client.services.social import Social
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from social.api import create_api
from social.calendar import SlotScheduler
from social.sending import DuePosts
from social.urls import FeedUrls
from tests.fixtures.commands.brandctl import Operator

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
NOWHERE = Address("http://127.0.0.1:1", "nobody")


@pytest.fixture
async def social_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("social"), name="social test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    yield Database(connections, relay, "social", CATALOGUE)
    await connections.close()


@pytest.fixture
async def calendar(brandctl: Operator, social_database: Database) -> AsyncIterator[Operator]:
    async def no_pages(*request: Any) -> None:
        await Response(status_code=404)(*request)

    key = ServiceKey(SecretStr(brandctl.variables["SERVICE_KEY"]))
    due = DuePosts(social_database, SlotScheduler(), at_once=1)
    app = create_api(social_database, key, FeedUrls.under("http://127.0.0.1:1"), due, feeds=no_pages)
    async with serving(app) as url:
        operator = replace(brandctl, variables=brandctl.variables | {"SOCIAL_URL": url})
        yield operator.of("calendar")


@pytest.fixture
async def posts(social_database: Database) -> list[str]:
    """Three that are planned at noon of the days to come, in the queue of mastodon-eu."""
    async with social_database.connection() as connection:
        rows = await connection.fetch(
            """
            insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state,
                                       due_at, in_queue)
            select gen_random_uuid(), 'acme', gen_random_uuid(), 'mastodon', 'mastodon',
                   jsonb_build_object('title', 'Tea ' || day, 'keyword', 'tea', 'description', '', 'points', '[]'::jsonb,
                                      'tags', '[]'::jsonb, 'link', null, 'pictures', '[]'::jsonb, 'language', null),
                   'mastodon', 'mastodon-eu', 'Tea, ' || day, 'planned', $1::timestamptz + day * interval '1 day', true
            from generate_series(1, 3) as day returning post_id
            """,
            NOW.replace(hour=12, minute=0, second=0),
        )
    return [str(row["post_id"]) for row in rows]


@pytest.mark.extended
async def test_what_goes_out_is_shown_in_one_order_and_exported(calendar: Operator, posts: list[str]) -> None:
    at = (NOW + 2 * DAY).replace(hour=13, minute=0, second=0).isoformat()
    schedules = calendar.of("schedules")
    launch = await schedules(
        "set", "acme", "launch", "--at", at, "--deadline-hours", "48", "--max-cost", "2.5", "spring menu"
    )
    assert launch.code == 0, launch.err
    made = await schedules.json("show", "acme", "launch")
    assert (made["deadline_hours"], made["max_cost"]) == (48, 2.5)

    shown = await calendar("show", "acme", "--zone", "Asia/Tokyo")
    assert (await calendar("show", "--brand", "acme", "--zone", "Asia/Tokyo")).out == shown.out
    for brands in ((), ("acme", "--brand", "other")):
        unsaid = await calendar("show", *brands)
        assert (unsaid.code, "the brand is missing" in unsaid.err) == (2, True)
    rows = [line.split("\t") for line in shown.out.splitlines()]
    assert [row[1:4] for row in rows] == [
        ["where", "state", "what"],
        ["mastodon-eu", "planned (slot)", "Tea 1"],
        ["mastodon-eu", "planned (slot)", "Tea 2"],
        ["launch", "scheduled", "1 keyword"],
        ["mastodon-eu", "planned (slot)", "Tea 3"],
    ]
    assert {row[0][-6:] for row in rows[1:]} == {"+09:00"}
    few = await calendar("show", "acme", "--limit", "2")
    assert (len(few.out.splitlines()), "there is more: --from" in few.err) == (3, True)
    listed = await calendar.json("show", "acme")
    assert [each.get("post_id") for each in listed["items"]] == [*posts[:2], None, posts[2]]

    exported = await calendar("export", "acme")
    events = icalendar.Calendar.from_ical(exported.out).walk("VEVENT")
    assert [str(each["SUMMARY"]) for each in events] == [
        "mastodon-eu: Tea 1",
        "mastodon-eu: Tea 2",
        "mastodon-eu: Tea 3",
        "launch: 1 keyword",
    ]
    file = await calendar("export", "acme", "--out", "acme.ics")
    assert (file.code, "4 events are in acme.ics" in file.err) == (0, True)
    assert (calendar.folder / "acme.ics").read_bytes().endswith(b"\r\nEND:VCALENDAR\r\n")


@pytest.mark.extended
async def test_slots_are_set_and_posts_moved(calendar: Operator, posts: list[str]) -> None:
    noon = ("--at", "12:00", "--zone", "UTC", "--quiet", "22:00-07:00", "--apart", "30")
    made = await calendar("slots", "acme", "mastodon-eu", *noon)
    assert made.out.splitlines()[1].split("\t")[:5] == [
        "mastodon-eu",
        "12:00",
        "UTC",
        "30 min",
        "22:00-07:00",
    ]
    assert (await calendar("slots", "acme")).out == made.out

    first = await calendar("move", posts[2], "--first")
    assert (first.code, "“Tea 3” on mastodon-eu: planned (slot)" in first.err) == (0, True)
    order = await calendar("reorder", "acme", "mastodon-eu", posts[1])
    assert [line.split("\t")[3] for line in order.out.splitlines()[1:]] == ["Tea 2", "Tea 3", "Tea 1"]
    off = await calendar.json("move", posts[0], "--off")
    assert off["state"] == "called_off"
    now = await calendar("move", posts[0], "--now")
    assert (now.code, "“Tea 1” on mastodon-eu: planned, " in now.err) == (0, True)
    named = await calendar("move", posts[0], "--at", f"{NOW + 3 * DAY:%Y-%m-%d} 08:30")
    assert (named.code, f"{NOW + 3 * DAY:%Y-%m-%d} 08:30 is in the time zone UTC" in named.err) == (
        0,
        True,
    ), named.err
    late = await calendar("move", posts[0], "--at", "2020-01-01T00:00Z")
    assert (late.code, "has gone by" in late.err) == (1, True)
    nowhere = await calendar("move", posts[0])
    assert (nowhere.code, "give one of" in nowhere.err) == (2, True)
    again = await calendar("repeat", posts[0], "--at", "mon 09:00", "--times", "5")
    assert (again.code, "recurring on mastodon-eu: 0 of 5 made" in again.err) == (0, True)
    monthly = await calendar.json("repeat", posts[0], "--at", "mon 09:00", "--at", "1,last-fri 17:30")
    assert (monthly["times"], monthly["monthly"]) == (
        [{"days": ["mon"], "times": ["09:00"]}],
        [{"days": ["1", "last-fri"], "times": ["17:30"]}],
    )
    everywhere = await calendar.json("repeat", posts[0], "--cool-down", "60", "--everywhere")
    assert (everywhere["kind"], everywhere["account"]) == ("evergreen", None)
    assert (await calendar("repeat", posts[0], "--stop")).code == 0
    assert (await calendar("slots", "acme", "mastodon-eu", "--remove")).code == 0
    assert "posts are sent at once" in (await calendar("slots", "acme")).err


@pytest.mark.extended
async def test_a_week_is_shown_day_by_day(calendar: Operator, posts: list[str]) -> None:
    await calendar.of("schedules")("set", "acme", "launch", "--at", "2107-03-02T09:00Z", "spring menu")

    week = await calendar("week", "acme", "--of", "2107-03-03", "--zone", "Asia/Tokyo")
    assert "acme, 28 Feb to 6 Mar 2107, by the clocks of Asia/Tokyo" in week.err
    assert week.out.splitlines()[:5] == ["Mon 28 Feb", "  -", "Tue 1 Mar", "  -", "Wed 2 Mar"]
    assert week.out.splitlines()[5] == "  18:00  launch  scheduled  1 keyword"
    three = await calendar("week", "acme", "--weeks", "2")
    shown = [line.split() for line in three.out.splitlines() if "Tea" in line]
    assert [(line[0], line[1], line[-1]) for line in shown] == [
        ("12:00", "mastodon-eu", each) for each in posts
    ]
    for of, zone in (("yesterday", "UTC"), ("9999-12-31", "UTC"), (None, "Mars/Base")):
        with pytest.raises(UsageError):
            commands.week(Social(NOWHERE), Orchestrator(NOWHERE), "acme", of=of, zone=zone)


@pytest.mark.extended
async def test_posts_of_the_feed_and_articles_are_moved_alike(
    calendar: Operator, social_database: Database
) -> None:
    post = str(uuid4())
    async with social_database.connection() as connection:
        await connection.execute(
            "insert into pending_posts (post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, display_name,"
            " asked_as, publish_at) values ($1, 'acme', $2, 'feed', 'Tea', 'Tea is steeped.', '[]', null, '[]', 'Acme', '{feed}', $3)",
            post,
            uuid4(),
            NOW + DAY,
        )
    at = (NOW + 3 * DAY).isoformat()
    moved = await calendar("move", post, "--at", at)
    assert (moved.code, "“Tea” on feed: scheduled, " in moved.err) == (0, True), moved.err
    slotless = await calendar("move", post, "--first")
    assert (slotless.code, "the built-in feed has no slots" in slotless.err) == (2, True)
    off = await calendar("move", post, "--off")
    assert off.err.strip().endswith("“Tea” on feed: waiting")
    now = await calendar.json("move", post, "--now")
    assert (now["state"], now["post_url"].endswith(post)) == ("posted", True)
    nothing = await calendar("move", str(uuid4()), "--now")
    assert (nothing.code, "no post or article has the id" in nothing.err) == (1, True)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("9:00", {"times": ["09:00"]}),
        ("mon-fri 09:00, 17:30", None),
        ("mon-fri 09:00,17:30", {"days": ["mon", "tue", "wed", "thu", "fri"], "times": ["09:00", "17:30"]}),
        ("Sat,sun 11:00", {"days": ["sat", "sun"], "times": ["11:00"]}),
        ("fri-mon 11:00", {"days": ["fri", "sat", "sun", "mon"], "times": ["11:00"]}),
        ("everyday 11:00", None),
        ("mon 25:00", None),
    ],
)
def test_times_of_the_week_are_read_as_people_type_them(
    typed: str, line: dict[str, list[str]] | None
) -> None:
    if line is None:
        with pytest.raises(UsageError):
            weeks.times(typed)
        return
    assert weeks.times(typed) == line
    assert weeks.times(weeks.shown({"days": [], **line})).get("times") == line["times"]


def test_days_of_the_month_stand_beside_those_of_the_week() -> None:
    assert weeks.recurring(["Mon 9:00", "15, last 9:00,17:30", "second-tue 09:00", "08:00"]) == {
        "times": [{"days": ["mon"], "times": ["09:00"]}, {"times": ["08:00"]}],
        "monthly": [
            {"days": ["15", "last"], "times": ["09:00", "17:30"]},
            {"days": ["second-tue"], "times": ["09:00"]},
        ],
    }
    for wrong in ("1,mon 09:00", "32 09:00", "sixth-mon 09:00", "last", "0 09:00"):
        with pytest.raises(UsageError):
            weeks.recurring([wrong])
