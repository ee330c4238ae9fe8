"""Replays of messages that were over the deadline or the cost of their chain: only with a new limit, which they carry."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage
from messaging import Database, DeadLetter, Reason

NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]
LIST = "/v1/dead-letters"


async def replayed(database: Database) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select convert_from(body, 'utf8') as body from outbox where exchange = 'returns' order by id"
        )
    return [json.loads(row["body"]) for row in rows]


@pytest.mark.parametrize(
    ("reason", "limit", "kept"),
    [(Reason.DEADLINE_PASSED, "deadline", "max_cost"), (Reason.COST_REACHED, "max_cost", "deadline")],
)
async def test_what_was_over_a_limit_is_replayed_with_a_new_one_or_refused(
    api: httpx.AsyncClient,
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    reason: Reason,
    limit: str,
    kept: str,
) -> None:
    later = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)
    body = new_envelope(deadline="2026-01-02T03:04:05Z", max_cost=100_000)
    over, other = await record(new_death(body, reason=reason), new_death())

    refused = await api.post(f"{LIST}/{over}/replay")
    many = await api.post(f"{LIST}/replay", json={"ids": [str(over), str(other)]})
    begun = await api.post(
        f"{LIST}/{over}/replay", json={limit: {"deadline": later.isoformat(), "max_cost": 0.25}[limit]}
    )

    assert refused.status_code == 422
    assert f"`{limit}`" in refused.json()["detail"]
    assert [each["id"] for each in many.json()["replays"]] == [str(other)]
    assert begun.status_code == 202
    _, sent = await replayed(database)
    before = json.loads(body)
    assert sent["payload"] == before["payload"]
    if limit == "deadline":
        assert datetime.fromisoformat(sent["deadline"]) == later
    else:
        assert sent["max_cost"] == 250_000
    assert sent[kept] == before[kept]


async def test_many_are_replayed_with_one_new_deadline(
    api: httpx.AsyncClient, database: Database, record: Record, new_death: NewDeath
) -> None:
    await record(*(new_death(reason=Reason.DEADLINE_PASSED) for _ in range(3)))
    deadline = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    answer = await api.post(f"{LIST}/replay", json={"deadline": deadline})

    assert answer.json()["replayed"] == 3
    assert len({each["deadline"] for each in await replayed(database)}) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"deadline": "2020-01-01T00:00:00Z"},
        {"deadline": "soon"},
        {"max_cost": 0},
        {"max_cost": -1},
        {"max_cost": "much"},
    ],
)
async def test_impossible_limits_replay_nothing(
    api: httpx.AsyncClient, database: Database, record: Record, new_death: NewDeath, wrong: dict[str, Any]
) -> None:
    [dead] = await record(new_death())

    assert (await api.post(f"{LIST}/{dead}/replay", json=wrong)).status_code == 422
    assert (await api.post(f"{LIST}/replay", json=wrong)).status_code == 422
    assert await replayed(database) == []
