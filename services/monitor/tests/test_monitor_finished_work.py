"""Dead letters of work that another command has done: closed, even if the report comes before the death."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import WorkFinished
from envelope.brand.work import work_ids_in
from messaging import Database, DeadLetter
from monitor.dead_letters.decision_store import OperatorDecision
from monitor.dead_letters.finished_work import close_finished, delete_finished
from monitor.dead_letters.operations import DeadLetterOperations, ReplayResult

Death = DomainMessage[DeadLetter]
NewDeath = Callable[..., Death]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]

SENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DONE = SENT + timedelta(hours=7)
BY = uuid4()
ARTICLE = uuid4()
POST = uuid4()
PAYLOADS: dict[str, dict[str, Any]] = {
    "research.requested": {"brand_slug": "daily-grind", "keyword": "cold brew"},
    "content.generate": {
        "brand_slug": "daily-grind",
        "content_id": str(ARTICLE),
        "research_id": str(ARTICLE),
        "keyword": "cold brew",
    },
    "content.publish": {"brand_slug": "daily-grind", "content_id": str(ARTICLE), "target": "site"},
    "social.create": {
        "brand_slug": "daily-grind",
        "content_id": str(ARTICLE),
        "article_context": {"title": "Cold brew", "keyword": "cold brew", "meta_description": ""},
        "channels": ["feed", "mastodon"],
    },
    "post.send": {
        "brand_slug": "daily-grind",
        "content_id": str(ARTICLE),
        "post_id": str(POST),
        "channel": "mastodon",
    },
}
QUEUES = {"research": "research-commands", "content": "publisher-commands", "social": "social-commands"}


def queue_of(message_type: str) -> str:
    if message_type == "content.generate":
        return "orchestrator-commands"
    return QUEUES.get(message_type.partition(".")[0], "social-commands")


def report(
    message_type: str,
    *,
    covers_until: datetime = DONE,
    source: str | None = None,
    part: int = 0,
    correlation_id: str = "chain-1",
    **changes: Any,
) -> DomainMessage[WorkFinished]:
    work_id = work_ids_in(message_type, PAYLOADS[message_type] | changes, correlation_id)[part]
    return DomainMessage[WorkFinished](
        event_id=new_event_id(),
        type="work.finished",
        source=source or ("social" if message_type == "post.send" else "orchestrator"),
        timestamp=DONE,
        payload=WorkFinished(
            brand_slug="daily-grind",
            work_id=work_id,
            covers_until=covers_until,
            finished_at=DONE,
            finished_by=BY,
        ),
    )


async def tell(database: Database, *reports: DomainMessage[WorkFinished]) -> None:
    async with database.transaction() as tx:
        await close_finished(reports, tx)


async def row(database: Database, dead: UUID) -> dict[str, Any]:
    async with database.connection() as connection:
        found = await connection.fetchrow("select * from dead_messages where id = $1", dead)
    assert found is not None
    return dict(found)


@pytest.fixture
def bury(record: Record, new_death: NewDeath, new_envelope: NewEnvelope) -> Callable[..., Awaitable[UUID]]:
    """Records the death of a command."""

    async def bury(message_type: str, event_id: UUID | None = None, **changes: Any) -> UUID:
        payload = PAYLOADS[message_type] | changes.pop("payload", {})
        envelope_changes = {
            name: changes.pop(name) for name in ("timestamp", "correlation_id") if name in changes
        }
        body = new_envelope(event_id, type=message_type, payload=payload, **envelope_changes)
        [dead] = await record(new_death(body, **{"queue": queue_of(message_type)} | changes))
        return dead

    return bury


Bury = Callable[..., Awaitable[UUID]]
RESOLUTION = f"done by {BY} at 2026-01-02 10:04:05 UTC"


@pytest.mark.extended
@pytest.mark.parametrize("report_first", [True, False])
@pytest.mark.parametrize(
    "message_type", ["research.requested", "content.generate", "content.publish", "post.send"]
)
async def test_work_done_by_another_command_closes_its_dead_letter(
    database: Database, bury: Bury, api: httpx.AsyncClient, message_type: str, *, report_first: bool
) -> None:
    if report_first:
        for _ in range(2):
            await tell(database, report(message_type))
    dead = await bury(message_type)
    if not report_first:
        for _ in range(2):
            await tell(database, report(message_type))
    shown = (await api.get(f"/v1/dead-letters/{dead}")).json()
    assert (shown["state"], shown["resolution"]) == ("resolved", RESOLUTION)
    async with database.connection() as connection:
        announced = await connection.fetchval(
            "select count(*) from outbox where type = 'dead_letter.recorded'"
        )
    # Of one that is closed on arrival nobody hears: nothing about it is for anybody to do.
    assert announced == (0 if report_first else 1)


async def test_a_dead_letter_for_several_channels_is_closed_once_all_are_announced(
    database: Database, bury: Bury
) -> None:
    dead = await bury("social.create")
    await tell(database, report("social.create", part=0))
    assert (await row(database, dead))["state"] == "open"
    await tell(database, report("social.create", part=1))
    assert (await row(database, dead))["state"] == "resolved"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("message_type", "changes"),
    [
        ("content.publish", {"payload": {"brand_slug": "other-brand"}}),
        ("content.publish", {"payload": {"target": "wordpress"}}),
        ("content.publish", {"payload": {"content_id": str(uuid4())}}),
        ("content.publish", {"payload": {"overwrite": True}}),
        ("content.publish", {"timestamp": (DONE + timedelta(minutes=1)).isoformat()}),
        ("content.publish", {"reason": "false_claim"}),
        ("content.publish", {"queue": "social-commands"}),
        ("content.generate", {"payload": {"revision": 2}}),
        ("research.requested", {"payload": {"keyword": "pour over"}}),
        ("research.requested", {"correlation_id": "chain-2"}),
        ("post.send", {"payload": {"post_id": str(uuid4())}}),
        ("social.create", {}),
    ],
)
@pytest.mark.parametrize("report_first", [True, False])
async def test_other_work_stays_open(
    database: Database, bury: Bury, message_type: str, changes: dict[str, Any], *, report_first: bool
) -> None:
    reports = [report(each) for each in PAYLOADS if each != "social.create"]
    if report_first:
        await tell(database, *reports)
    dead = await bury(message_type, **changes)
    if not report_first:
        await tell(database, *reports)
    assert (await row(database, dead))["state"] == "open"


async def test_a_service_closes_no_dead_letter_of_work_that_is_not_its_own(
    database: Database, bury: Bury
) -> None:
    published, posted = await bury("content.publish"), await bury("post.send")
    await tell(
        database, report("content.publish", source="social"), report("post.send", source="orchestrator")
    )
    assert {(await row(database, dead))["state"] for dead in (published, posted)} == {"open"}


async def test_a_report_that_covers_less_takes_nothing_back(database: Database, bury: Bury) -> None:
    await tell(database, report("content.publish"))
    await tell(database, report("content.publish", covers_until=SENT - timedelta(hours=1)))
    assert (await row(database, await bury("content.publish")))["state"] == "resolved"


async def test_one_that_is_being_replayed_is_left_to_its_replay_and_closed_if_that_dies(
    database: Database, bury: Bury
) -> None:
    event_id = uuid4()
    first = await bury("content.publish", event_id)
    replayed = await DeadLetterOperations(database).replay(first)
    assert isinstance(replayed, ReplayResult)
    (replay_id,) = replayed.replays.values()
    await tell(database, report("content.publish"))
    assert (await row(database, first))["state"] == "replaying"

    # The replay was sent after the work was done, but asks for no more than the first did.
    now = datetime.now(UTC)
    second = await bury("content.publish", replay_id, timestamp=now.isoformat(), replay_of=event_id)
    found = await row(database, second)
    assert (found["state"], found["resolution"], found["replay_of"]) == ("resolved", RESOLUTION, first)
    assert (await row(database, first))["resolution"] == f"replaced by {second}"


async def test_a_replay_and_a_report_at_the_same_moment_leave_one_outcome(
    database: Database, bury: Bury
) -> None:
    for _ in range(10):
        dead = await bury("content.publish", timestamp=SENT.isoformat())
        async with database.connection() as connection:
            await connection.execute(
                "update dead_messages set state = 'open', resolution = null, resolved_at = null"
            )
            await connection.execute("delete from finished_work")
        replayed, _ = await asyncio.gather(
            DeadLetterOperations(database).replay(dead), tell(database, report("content.publish"))
        )
        found = await row(database, dead)
        if isinstance(replayed, ReplayResult):
            assert (found["state"], found["resolution"]) == ("replaying", None)
        else:
            assert (found["state"], found["resolution"]) == ("resolved", RESOLUTION)
        async with database.connection() as connection:
            await connection.execute("delete from dead_messages")


async def test_one_that_was_discarded_stays_so(database: Database, bury: Bury) -> None:
    dead = await bury("content.publish")
    assert await DeadLetterOperations(database).discard(dead, OperatorDecision(why="not needed")) is None
    await tell(database, report("content.publish"))
    found = await row(database, dead)
    assert (found["state"], found["resolution"]) == ("discarded", "not needed")


async def test_reports_are_forgotten_with_what_they_have_closed(database: Database, bury: Bury) -> None:
    await tell(database, report("content.publish"))
    async with database.connection() as connection:
        await delete_finished(connection, timedelta(days=30))
        assert await connection.fetchval("select count(*) from finished_work") == 1
        await connection.execute("update finished_work set noted_at = now() - interval '31 days'")
        await delete_finished(connection, timedelta(days=30))
    assert (await row(database, await bury("content.publish")))["state"] == "open"


async def test_the_announcement_says_which_work_it_was(database: Database, bury: Bury) -> None:
    await bury("social.create")
    await bury("content.publish", reason="false_claim")
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select convert_from(body, 'utf8')::json #>> '{payload,work_ids}' as work_ids from outbox order by id"
        )
    wanted = work_ids_in("social.create", PAYLOADS["social.create"], "chain-1")
    assert all(str(work_id) in rows[0]["work_ids"] for work_id in wanted)
    assert rows[1]["work_ids"] in (None, "[]")


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59"])
async def test_a_message_with_a_time_that_no_column_holds_is_recorded_all_the_same(
    database: Database, bury: Bury, timestamp: str
) -> None:
    dead = await bury("content.publish", timestamp=timestamp)
    await tell(database, report("content.publish"))
    found = await row(database, dead)
    assert (found["state"], found["asked_at"]) == ("open", None)
