"""Edits of dead letters, as their consumers report them, in every order in which the messages may arrive."""

import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DeadLetterEdited, DeadLetterResolved, DomainMessage, new_event_id
from messaging import Database, DeadLetter
from messaging.headers import REPLAY_OF
from monitor.dead_letters import delete_old, handlers, record_edits, remove, states_of_messages
from monitor.dead_letters.decision_store import OperatorDecision
from monitor.dead_letters.operations import DeadLetterOperations

QUEUE = "publisher-commands"
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]
PAYLOAD = {
    "brand_slug": "daily-grind",
    "content_id": str(uuid4()),
    "target": "sight",
    "comment": "for Bob only",
}


def message(payload: Any, type_: str) -> DomainMessage[Any]:
    return DomainMessage[type(payload)](  # type: ignore[misc]
        event_id=new_event_id(), type=type_, source="publisher", timestamp=datetime.now(UTC), payload=payload
    )


async def report(database: Database, dead: UUID, edited: UUID, **changes: Any) -> None:
    edit = DeadLetterEdited(
        dead_event_id=dead,
        edited_event_id=edited,
        queue=QUEUE,
        edited_at=datetime.now(UTC),
        edited_by="Ann",
        reason="a typing error",
        content=PAYLOAD | {"target": "site"},
    )
    async with database.transaction() as tx:
        await record_edits([message(edit.model_copy(update=changes), "dead_letter.edited")], tx)


async def handled(database: Database, dead: UUID, edited: UUID) -> None:
    word = DeadLetterResolved(dead_event_id=dead, replay_event_id=edited, queue=QUEUE)
    async with database.transaction() as tx:
        await handlers.resolve([message(word, "dead_letter.resolved")], tx)


async def rows(database: Database) -> dict[UUID, dict[str, Any]]:
    """By the id of the message."""
    async with database.connection() as connection:
        found = await connection.fetch("select * from dead_messages")
    return {UUID(int=row["event_id"].int): dict(row) for row in found}


@pytest.mark.parametrize("order", list(itertools.permutations(["death", "edit", "handled"])))
async def test_an_edited_dead_letter_is_resolved_when_the_edited_message_is_handled(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope, order: tuple[str, ...]
) -> None:
    dead, edited = new_event_id(), new_event_id()
    death = new_death(new_envelope(dead, payload=PAYLOAD))
    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "death": lambda: record(death),
        "edit": lambda: report(database, dead, edited),
        "handled": lambda: handled(database, dead, edited),
    }
    for step in order:
        await steps[step]()
        await steps[step]()  # each may come twice
        known = (await rows(database)).get(dead)
        if known is not None and step == "edit" and order.index("handled") > order.index("edit"):
            assert (known["state"], known["replay_event_id"]) == ("replaying", edited)
            assert (known["decided_by"], known["decided_why"]) == ("Ann", "a typing error")
    (found,) = (await rows(database)).values()
    assert (found["state"], found["resolution"]) == ("resolved", f"handled as {edited}")
    async with database.connection() as connection:
        assert await states_of_messages(connection, [dead], QUEUE) == {dead: "resolved"}


@pytest.mark.parametrize("order", list(itertools.permutations(["death", "edit", "again"])))
async def test_an_edited_message_that_dies_is_a_dead_letter_of_its_own_beside_the_original(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope, order: tuple[str, ...]
) -> None:
    dead, edited = new_event_id(), new_event_id()
    first = new_death(new_envelope(dead, payload=PAYLOAD))
    again = new_death(
        new_envelope(edited, payload=PAYLOAD | {"target": "site"}, causation_id=str(dead)),
        replay_of=dead,
        headers={REPLAY_OF: str(dead)},
    )
    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "death": lambda: record(first),
        "edit": lambda: report(database, dead, edited),
        "again": lambda: record(again),
    }
    for step in order:
        await steps[step]()
    found = await rows(database)
    assert (found[dead]["state"], found[dead]["resolution"]) == (
        "resolved",
        f"replaced by {found[edited]['id']}",
    )
    assert (found[edited]["state"], found[edited]["replay_of"]) == ("open", found[dead]["id"])


async def test_a_letter_that_was_discarded_here_meanwhile_is_edited_all_the_same(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    dead, edited = new_event_id(), new_event_id()
    [letter] = await record(new_death(new_envelope(dead, payload=PAYLOAD)))
    await DeadLetterOperations(database).discard(letter, OperatorDecision("Bob", "not needed"))
    await report(database, dead, edited)
    found = (await rows(database))[dead]
    assert (found["state"], found["replay_event_id"], found["resolution"]) == ("replaying", edited, None)


async def test_original_and_edit_are_shown_beside_each_other_without_what_is_hidden(
    database: Database, api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    dead, edited = new_event_id(), new_event_id()
    [letter] = await record(new_death(new_envelope(dead, payload=PAYLOAD)))
    before = (await api.get(f"/v1/dead-letters/{letter}")).json()
    assert (before["edit"], before["is_edited"]) == (None, False)
    await report(database, dead, edited)
    shown = (await api.get(f"/v1/dead-letters/{letter}")).json()
    assert (shown["state"], shown["payload"]["payload"]["target"]) == ("replaying", "sight")
    assert (shown["edit"]["event_id"], shown["edit"]["edited_by"]) == (str(edited), "Ann")
    assert (shown["edit"]["payload"]["target"], shown["edit"]["payload"]["comment"]) == ("site", "***")
    assert shown["edit"]["payload_hidden"] == ["payload.comment"]
    full = (await api.post(f"/v1/dead-letters/{letter}/reveal")).json()
    assert full["edit"]["payload"] == PAYLOAD | {"target": "site"}
    replay = await api.post(f"/v1/dead-letters/{letter}/replay", json={})
    assert (replay.status_code, str(edited) in replay.json()["detail"]) == (409, True)
    body = new_envelope(edited, payload=PAYLOAD | {"target": "site"})
    [again] = await record(new_death(body, replay_of=dead))
    assert (await api.get(f"/v1/dead-letters/{again}")).json()["is_edited"] is True


async def test_edits_go_with_their_brand_and_with_their_dead_letters(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    async def left() -> int:
        async with database.connection() as connection:
            return int(await connection.fetchval("select count(*) from dead_letter_edits"))

    dead, edited = new_event_id(), new_event_id()
    await record(new_death(new_envelope(dead, payload=PAYLOAD)))
    await report(database, dead, edited, edited_at=datetime.now(UTC) - timedelta(days=400))
    await delete_old(database, timedelta(days=90))
    assert await left() == 1  # its dead letter is still there
    # A report that died here is about the brand, too.
    await record(
        new_death(
            new_envelope(type="dead_letter.edited", source="publisher", payload={"content": PAYLOAD}),
            queue="monitor-commands",
        )
    )
    async with database.transaction() as tx:
        assert await remove(tx.connection, "daily-grind") == 2
    assert await left() == 0
    await report(database, dead, edited, edited_at=datetime.now(UTC) - timedelta(days=400))
    await delete_old(database, timedelta(days=90))
    assert await left() == 0
