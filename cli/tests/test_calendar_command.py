"""`brandctl calendar` as a process of its own, beside the APIs of an orchestrator and of social."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import icalendar
import pytest
from pydantic import SecretStr
from starlette.responses import Response

from brandctl.calendar import weeks
from brandctl.errors import UsageError
from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from social.api import create_api
from social.calendar import Slots
from social.sending import DuePosts
from social.urls import FeedUrls
from tests.fixtures.commands.brandctl import Operator

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


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
    due = DuePosts(social_database, Slots(), at_once=1)
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


async def test_what_goes_out_is_shown_in_one_order_and_exported(calendar: Operator, posts: list[str]) -> None:
    at = (NOW + 2 * DAY).replace(hour=13, minute=0, second=0).isoformat()
    launch = await calendar.of("schedules")("set", "acme", "launch", "--at", at, "spring menu")
    assert launch.code == 0, launch.err

    shown = await calendar("show", "acme", "--zone", "Asia/Tokyo")
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
    late = await calendar("move", posts[0], "--at", "2020-01-01T00:00Z")
    assert (late.code, "has gone by" in late.err) == (1, True)
    nowhere = await calendar("move", posts[0])
    assert (nowhere.code, "say where to" in nowhere.err) == (2, True)
    again = await calendar("repeat", posts[0], "--at", "mon 09:00", "--times", "5")
    assert (again.code, "recurring on mastodon-eu: 0 of 5 made" in again.err) == (0, True)
    everywhere = await calendar.json("repeat", posts[0], "--cool-down", "60", "--everywhere")
    assert (everywhere["kind"], everywhere["account"]) == ("evergreen", None)
    assert (await calendar("repeat", posts[0], "--stop")).code == 0
    assert (await calendar("slots", "acme", "mastodon-eu", "--remove")).code == 0
    assert "posts go out at once" in (await calendar("slots", "acme")).err


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
