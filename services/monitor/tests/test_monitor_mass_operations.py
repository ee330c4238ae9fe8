"""Decisions about all dead letters that match, which go on in the background."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DeadLetterResolved, DomainMessage, new_event_id
from messaging import Database, DeadLetter
from monitor.dead_letters import MassOperations, handlers, mass_operations

LIST = "/v1/dead-letters"
OPERATIONS = "/v1/dead-letter-operations"
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]


async def begin(api: httpx.AsyncClient, verb: str = "replay", **fields: Any) -> dict[str, Any]:
    answer = await api.post(
        OPERATIONS, json={"verb": verb, "by": "ann", "reason": "it was a bad release"} | fields
    )
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def seen(api: httpx.AsyncClient, operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get(f"{OPERATIONS}/{operation['id']}")).json()
    return found


async def waiting(database: Database) -> list[tuple[UUID, UUID]]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select event_id, replay_event_id from dead_messages where state = 'replaying' order by recorded_at, id"
        )
    return [(row["event_id"], row["replay_event_id"]) for row in rows]


async def handle(database: Database, replays: list[tuple[UUID, UUID]]) -> None:
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
        for dead, replay in replays
    ]
    async with database.transaction() as tx:
        await handlers.resolve(messages, tx)


async def test_all_that_matched_are_replayed_in_steps_and_their_ends_are_counted(
    api: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mass_operations, "_AT_ONCE", 3)
    await record(*(new_death() for _ in range(8)))
    other = await record(new_death(exception_type="Refused"))
    group = (await api.get(f"{LIST}/summary")).json()["groups"][0]["group"]
    begun = await begin(api, group=group)
    later = await record(new_death())
    # As another process, after a restart.
    await MassOperations(database).advance()
    sent = await seen(api, begun)
    replays = await waiting(database)
    (dead, replay), *others = replays
    await handle(database, others)
    await record(new_death(new_envelope(replay), replay_of=dead))
    await MassOperations(database).advance()
    ended = await seen(api, begun)
    left = {each["id"] for each in (await api.get(LIST, params={"state": "open"})).json()["items"]}
    assert (begun["state"], begun["total"], begun["decided"]) == ("running", 8, 3)
    assert (sent["state"], sent["decided"], sent["waiting"]) == ("running", 8, 8)
    assert (ended["state"], ended["handled"], ended["came_back"], ended["waiting"]) == ("done", 7, 1, 0)
    assert (ended["by"], ended["reason"]) == ("ann", "it was a bad release")
    assert {str(other[0]), str(later[0])} <= left
    assert len(left) == 3


async def test_a_small_discard_has_ended_with_its_answer_and_can_be_taken_back(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    ids = await record(*(new_death() for _ in range(4)))
    now = (await api.get(LIST)).json()["now"]
    await record(new_death())
    discarded = await begin(api, "discard", until=now, queue="publisher-commands-dlq")
    again = await begin(api, "discard", until=now)
    one = (await api.get(f"{LIST}/{ids[0]}")).json()
    restored = await begin(api, "restore")
    # Restored since: the page was made before.
    late = await begin(api, "discard", until=now)
    assert late["decided"] == 0
    listed = (await api.get(OPERATIONS, params={"limit": 2})).json()
    following = (await api.get(OPERATIONS, params={"after": listed["next"]})).json()["items"]
    assert (discarded["total"], discarded["decided"], discarded["waiting"]) == (4, 4, 0)
    assert (again["total"], again["decided"]) == (0, 0)
    assert (one["state"], one["decided_by"], one["decided_why"]) == (
        "discarded",
        "ann",
        "it was a bad release",
    )
    assert restored["decided"] == 4
    assert [each["id"] for each in (*listed["items"], *following)] == [
        late["id"],
        restored["id"],
        again["id"],
        discarded["id"],
    ]


async def test_a_stopped_operation_leaves_the_rest(
    api: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mass_operations, "_AT_ONCE", 2)
    await record(*(new_death() for _ in range(5)))
    begun = await begin(api)
    stopped = await api.post(f"{OPERATIONS}/{begun['id']}/stop", json={"by": "bob"})
    await MassOperations(database).advance()
    twice = await api.post(f"{OPERATIONS}/{begun['id']}/stop", json={"by": "eve"})
    await handle(database, await waiting(database))
    await MassOperations(database).advance()
    ended = await seen(api, begun)
    assert stopped.json()["state"] == "stopped"
    assert twice.json()["stopped_by"] == "bob"
    assert (ended["decided"], ended["handled"], ended["waiting"]) == (2, 2, 0)
    assert (await api.get(LIST, params={"state": "open"})).json()["open"] == 3


async def test_what_cannot_be_meant_is_refused(api: httpx.AsyncClient) -> None:
    unknown = f"{OPERATIONS}/{UUID(int=7)}"
    for body in (
        {"verb": "discard"},
        {"verb": "bury", "reason": "no"},
        {"verb": "replay", "ids": [str(UUID(int=7))]},
        {"verb": "replay", "until": "yesterday"},
    ):
        assert (await api.post(OPERATIONS, json=body)).status_code == 422, body
    for answer in (await api.get(unknown), await api.post(f"{unknown}/stop")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_dead_letter_operation")
    assert (await api.get(OPERATIONS, params={"after": str(UUID(int=7))})).status_code == 422


async def test_a_caller_of_one_brand_decides_about_its_letters_and_sees_no_others(
    api: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
) -> None:
    ids = await record(*(new_death() for _ in range(3)))
    async with database.connection() as connection:
        await connection.execute("update dead_messages set brand_slug = 'acme' where id = any ($1)", ids[:2])
    operations = MassOperations(database)
    wanted = mass_operations.BulkSelection()
    decision = mass_operations.OperatorDecision("ann", "no")
    own = await operations.begin(mass_operations.OperationVerb.DISCARD, wanted, decision, ["acme"])
    assert own.decided == 2
    assert own.is_visible(["acme", "rivals"])
    assert not own.is_visible(["rivals"])
    assert await operations.page(brands=["rivals"], after=None, limit=10) == []
    async with database.transaction() as tx:
        await mass_operations.forget_brand(tx.connection, "acme")
    forgotten = await operations.find(own.id)
    assert forgotten is not None
    assert not forgotten.is_visible(["rivals"])
