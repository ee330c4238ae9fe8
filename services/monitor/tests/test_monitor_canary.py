"""Replays of a failure group in steps: one, then ten, then the rest."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DeadLetterResolved, DomainMessage, new_event_id
from messaging import Database, DeadLetter
from monitor.dead_letters import CanaryReplays, handlers

LIST = "/v1/dead-letters"
CANARIES = "/v1/canary-replays"
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]


class Consumer:
    """Reports what became of the replays that the monitor has sent."""

    def __init__(
        self, database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
    ) -> None:
        self._database = database
        self._record = record
        self._new_death = new_death
        self._new_envelope = new_envelope

    async def waiting(self) -> list[tuple[UUID, UUID]]:
        """Of those that are sent again: the id of the message, and that of its replay."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select event_id, replay_event_id from dead_messages where state = 'replaying' order by recorded_at, id"
            )
        return [(row["event_id"], row["replay_event_id"]) for row in rows]

    async def handle_all(self) -> int:
        waiting = await self.waiting()
        messages = [
            DomainMessage[DeadLetterResolved](
                event_id=new_event_id(),
                type="dead_letter.resolved",
                source="publisher",
                timestamp=datetime.now(UTC),
                payload=DeadLetterResolved(
                    dead_event_id=dead, replay_event_id=replay, queue="publisher-commands"
                ),
            )
            for dead, replay in waiting
        ]
        async with self._database.transaction() as tx:
            await handlers.resolve(messages, tx)
        return len(waiting)

    async def fail_one(self, **changes: Any) -> UUID:
        """Has the oldest replay fail again; returns its dead letter."""
        [(dead, replay), *_] = await self.waiting()
        [again] = await self._record(self._new_death(self._new_envelope(replay), replay_of=dead, **changes))
        return again


@pytest.fixture
def consumer(database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope) -> Consumer:
    return Consumer(database, record, new_death, new_envelope)


@pytest.fixture
async def group(api: httpx.AsyncClient, record: Record, new_death: NewDeath) -> str:
    """A group of 15 dead letters, beside one of another."""
    ids = await record(*(new_death() for _ in range(15)))
    await record(new_death(exception_type="Refused"))
    name: str = (await api.get(f"{LIST}/{ids[0]}")).json()["group"]
    return name


async def begin(api: httpx.AsyncClient, group: str) -> dict[str, Any]:
    answer = await api.post(CANARIES, json={"group": group, "by": "ann", "reason": "mended"})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_each_step_waits_until_the_replays_before_are_handled_also_after_a_restart(
    api: httpx.AsyncClient,
    database: Database,
    group: str,
    consumer: Consumer,
    record: Record,
    new_death: NewDeath,
) -> None:
    begun = await begin(api, group)
    assert (begun["state"], begun["total"], begun["replayed"], begun["by"]) == ("running", 15, 0, "ann")
    [later] = await record(new_death())
    sent = []
    for _ in range(3):
        # Twice, and by another process each time: nothing is sent before the step is handled.
        for _ in range(2):
            await CanaryReplays(database).advance()
        sent.append(await consumer.handle_all())
    await CanaryReplays(database).advance()
    ended = (await api.get(f"{CANARIES}/{begun['id']}")).json()
    assert sent == [1, 10, 4]
    assert (ended["state"], ended["step"], ended["replayed"], ended["waiting"]) == ("done", 3, 15, 0)
    assert ended["came_back"] is None
    left = (await api.get(LIST, params={"state": "open"})).json()
    # One of another group, and one that came after it had begun.
    assert (left["open"], str(later) in {each["id"] for each in left["items"]}) == (2, True)
    one = (await api.get(LIST, params={"state": "resolved", "limit": 1})).json()["items"][0]
    assert (one["decided_by"], one["decided_why"]) == ("ann", "mended")


@pytest.mark.parametrize("handled_before", [0, 1])
async def test_the_first_that_fails_in_the_same_way_ends_it_and_is_named(
    api: httpx.AsyncClient, database: Database, group: str, consumer: Consumer, handled_before: int
) -> None:
    begun = await begin(api, group)
    canaries = CanaryReplays(database)
    for _ in range(handled_before):
        await canaries.advance()
        await consumer.handle_all()
    await canaries.advance()
    again = await consumer.fail_one()
    for _ in range(3):
        await canaries.advance()
    ended = (await api.get(f"{CANARIES}/{begun['id']}")).json()
    assert (ended["state"], ended["came_back"]) == ("came_back", str(again))
    assert ended["replayed"] == (11 if handled_before else 1)
    opened = (await api.get(LIST, params={"state": "open", "group": group})).json()
    assert opened["matching"] == 15 - ended["replayed"] + 1
    # It can be begun anew, once the cause is gone.
    assert (await begin(api, group))["id"] != begun["id"]


async def test_one_that_fails_otherwise_does_not_end_it(
    api: httpx.AsyncClient, database: Database, group: str, consumer: Consumer
) -> None:
    begun = await begin(api, group)
    canaries = CanaryReplays(database)
    await canaries.advance()
    await consumer.fail_one(exception_type="Other")
    await canaries.advance()
    assert len(await consumer.waiting()) == 10
    assert (await api.get(f"{CANARIES}/{begun['id']}")).json()["state"] == "running"


async def test_a_replay_of_which_nothing_is_heard_for_a_day_ends_it(
    api: httpx.AsyncClient, database: Database, group: str
) -> None:
    begun = await begin(api, group)
    canaries = CanaryReplays(database)
    await canaries.advance()
    async with database.connection() as connection:
        await connection.execute(
            "update dead_messages set replayed_at = replayed_at - interval '25 hours' where replayed_at is not null"
        )
    await canaries.advance()
    assert (await api.get(f"{CANARIES}/{begun['id']}")).json()["state"] == "silent"


async def test_two_who_begin_at_once_and_two_replicas_make_one(
    api: httpx.AsyncClient, database: Database, group: str, consumer: Consumer
) -> None:
    both = await asyncio.gather(*(begin(api, group) for _ in range(3)))
    assert len({each["id"] for each in both}) == 1
    await asyncio.gather(*(CanaryReplays(database).advance() for _ in range(4)))
    assert len(await consumer.waiting()) == 1
    listed = (await api.get(CANARIES, params={"group": group})).json()
    assert ([each["id"] for each in listed["items"]], listed["next"]) == ([both[0]["id"]], None)


async def test_a_stopped_one_sends_no_more(
    api: httpx.AsyncClient, database: Database, group: str, consumer: Consumer
) -> None:
    begun = await begin(api, group)
    canaries = CanaryReplays(database)
    await canaries.advance()
    for name in ("bob", "eve"):
        answer = await api.post(f"{CANARIES}/{begun['id']}/stop", json={"by": name})
        assert (answer.json()["state"], answer.json()["stopped_by"]) == ("stopped", "bob")
    await consumer.handle_all()
    await canaries.advance()
    assert await consumer.waiting() == []


async def test_a_group_without_open_dead_letters_and_unknown_ids_are_refused(api: httpx.AsyncClient) -> None:
    nothing = await api.post(CANARIES, json={"group": "nothing"})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "dead_letter_not_ready")
    for method, path in (("GET", ""), ("POST", "/stop")):
        unknown = await api.request(method, f"{CANARIES}/{uuid4()}{path}")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_canary_replay")
