"""Discarded dead letters that an operator opens again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DeadLetterResolved, DomainMessage, new_event_id
from envelope.brand.payloads import WorkFinished
from envelope.brand.work import work_ids_in
from messaging import Database, DeadLetter
from monitor.dead_letters import handlers
from monitor.dead_letters.finished_work import close_finished

LIST = "/v1/dead-letters"
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]
ARTICLE = {"brand_slug": "daily-grind", "content_id": str(uuid4()), "target": "site"}
BY_ANN = {"reason": "it was the wrong group", "by": "ann"}


async def discard(api: httpx.AsyncClient, dead: UUID) -> None:
    answer = await api.post(f"{LIST}/{dead}/discard", json={"reason": "not needed", "by": "bob"})
    assert answer.status_code == 200, answer.text


async def report_done(database: Database) -> None:
    """Reports the work of the article as done, by another command."""
    done = datetime.now(UTC)
    (work_id,) = work_ids_in("content.publish", ARTICLE, "chain-1")
    payload = WorkFinished(
        brand_slug="daily-grind",
        work_id=work_id,
        covers_until=done + timedelta(hours=1),
        finished_at=done,
        finished_by=uuid4(),
    )
    message = DomainMessage[WorkFinished](
        event_id=new_event_id(),
        type="work.finished",
        source="orchestrator",
        timestamp=done,
        payload=payload,
    )
    async with database.transaction() as tx:
        await close_finished([message], tx)


async def report_handled(database: Database, dead: UUID, replay: UUID) -> None:
    payload = DeadLetterResolved(dead_event_id=dead, replay_event_id=replay, queue="publisher-commands")
    message = DomainMessage[DeadLetterResolved](
        event_id=new_event_id(),
        type="dead_letter.resolved",
        source="publisher",
        timestamp=datetime.now(UTC),
        payload=payload,
    )
    async with database.transaction() as tx:
        await handlers.resolve([message], tx)


async def test_a_discarded_one_is_open_again_once_whoever_presses_and_can_be_replayed(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    [dead] = await record(new_death())
    await discard(api, dead)
    answers = await asyncio.gather(
        *(api.post(f"{LIST}/{dead}/restore", json=BY_ANN | {"by": name}) for name in ("ann", "eve"))
    )
    assert {answer.status_code for answer in answers} == {200}
    first, second = (answer.json() for answer in answers)
    # Of two people at once the first counts; the second sees what that one has done.
    assert first == second
    assert (first["state"], first["resolution"], first["resolved_at"]) == ("open", None, None)
    assert first["restored_why"] == BY_ANN["reason"]
    assert first["restored_by"] in {"ann", "eve"}
    assert (first["decided_by"], first["decided_why"]) == ("bob", "not needed")
    later = (await api.post(f"{LIST}/{dead}/restore", json=BY_ANN | {"by": "carl"})).json()
    assert (later["restored_by"], later["restored_at"]) == (first["restored_by"], first["restored_at"])
    assert (await api.get(LIST)).json()["open"] == 1

    assert (await api.post(f"{LIST}/{dead}/replay")).status_code == 202
    refused = await api.post(f"{LIST}/{dead}/restore", json=BY_ANN)
    assert (refused.status_code, refused.json()["code"]) == (409, "dead_letter_not_ready")


async def test_one_that_never_was_discarded_stays_as_it_is(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    [dead] = await record(new_death())
    shown = (await api.post(f"{LIST}/{dead}/restore", json=BY_ANN)).json()
    assert (shown["state"], shown["restored_at"], shown["restored_by"]) == ("open", None, None)


async def test_one_that_was_replayed_before_its_discard_is_refused(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, database: Database
) -> None:
    [dead] = await record(new_death())
    sent = (await api.post(f"{LIST}/{dead}/replay")).json()["replay_event_id"]
    async with database.connection() as connection:
        await connection.execute("update dead_messages set replayed_at = now() - interval '25 hours'")
    await discard(api, dead)
    refused = await api.post(f"{LIST}/{dead}/restore", json=BY_ANN)
    assert (refused.status_code, refused.json()["code"]) == (409, "dead_letter_not_ready")
    assert sent in refused.json()["detail"]
    many = (await api.post(f"{LIST}/restore", json=BY_ANN)).json()
    assert many == {"restored": 0, "resolved": 0, "ids": [], "next": None}
    assert (await api.get(f"{LIST}/{dead}")).json()["state"] == "discarded"


@pytest.mark.parametrize("many", [False, True])
async def test_work_that_was_done_since_resolves_it_instead(
    api: httpx.AsyncClient,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    database: Database,
    *,
    many: bool,
) -> None:
    event_id = new_event_id()
    done, handled, waits = await record(
        new_death(new_envelope(payload=ARTICLE)), new_death(new_envelope(event_id)), new_death()
    )
    for dead in (done, handled, waits):
        await discard(api, dead)
    await report_done(database)
    replay = new_event_id()
    await report_handled(database, event_id, replay)
    if many:
        answer = (await api.post(f"{LIST}/restore", json=BY_ANN)).json()
        assert answer == {
            "restored": 3,
            "resolved": 2,
            "ids": [str(done), str(handled), str(waits)],
            "next": None,
        }
    else:
        for dead in (done, handled, waits):
            await api.post(f"{LIST}/{dead}/restore", json=BY_ANN)
    shown = [(await api.get(f"{LIST}/{dead}")).json() for dead in (done, handled, waits)]
    assert [each["state"] for each in shown] == ["resolved", "resolved", "open"]
    assert shown[0]["resolution"].startswith("done by ")
    assert shown[1]["resolution"] == f"handled as {replay}"
    assert {each["restored_by"] for each in shown} == {"ann"}


async def test_a_report_at_the_same_moment_leaves_none_open_whose_work_is_done(
    api: httpx.AsyncClient,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    database: Database,
) -> None:
    for _ in range(10):
        [dead] = await record(new_death(new_envelope(payload=ARTICLE)))
        await discard(api, dead)
        answer, _ = await asyncio.gather(
            api.post(f"{LIST}/{dead}/restore", json=BY_ANN), report_done(database)
        )
        assert answer.status_code == 200
        assert (await api.get(f"{LIST}/{dead}")).json()["state"] == "resolved"
        async with database.connection() as connection:
            await connection.execute("delete from finished_work")
            await connection.execute("delete from dead_messages")


async def test_all_that_match_and_were_discarded_by_then_are_restored_page_by_page(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    alike = await record(*(new_death() for _ in range(4)))
    [other] = await record(new_death(exception_type="Refused"))
    left_open, *gone = sorted(map(str, alike))
    for dead in (*gone[:2], str(other)):
        await discard(api, UUID(dead))
    until = (await api.get(LIST)).json()["now"]
    await discard(api, UUID(gone[2]))
    group = (await api.get(f"{LIST}/{left_open}")).json()["group"]
    asked: dict[str, Any] = BY_ANN | {"group": group, "until": until, "limit": 1}
    found, after = [], {}
    for _ in range(3):
        answer = (await api.post(f"{LIST}/restore", json=asked | after)).json()
        found += answer["ids"]
        if answer["next"] is None:
            break
        after = {"after": answer["next"]}
    assert sorted(found) == gone[:2]
    assert (await api.post(f"{LIST}/restore", json=asked)).json()["restored"] == 0
    states = {one: (await api.get(f"{LIST}/{one}")).json()["state"] for one in (gone[2], str(other))}
    assert set(states.values()) == {"discarded"}
    chosen = (await api.post(f"{LIST}/restore", json=BY_ANN | {"ids": [str(other), left_open]})).json()
    assert chosen["ids"] == [str(other)]


async def test_two_who_restore_many_at_once_share_them(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath
) -> None:
    ids = await record(*(new_death() for _ in range(40)))
    await api.post(f"{LIST}/discard", json={"reason": "a mistake"})
    both = await asyncio.gather(*(api.post(f"{LIST}/restore", json=BY_ANN) for _ in range(2)))
    taken = [one for answer in both for one in answer.json()["ids"]]
    assert sorted(taken) == sorted(map(str, ids))


async def test_a_reason_is_needed_and_the_change_is_in_the_audit_log(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, database: Database
) -> None:
    [dead] = await record(new_death())
    await discard(api, dead)
    for path in (f"{LIST}/{dead}/restore", f"{LIST}/restore"):
        for body in ({}, {"reason": " "}, {"reason": None}):
            assert (await api.post(path, json=body)).status_code == 422
    assert (await api.post(f"{LIST}/{uuid4()}/restore", json=BY_ANN)).status_code == 404
    await api.post(f"{LIST}/{dead}/restore", json=BY_ANN)
    async with database.connection() as connection:
        noted = await connection.fetch("select * from audit_log order by 1")
    assert any("restore" in str(dict(row)) for row in noted)
