"""Who decided about a dead letter: a person of the console by their name, a program by that of its key."""

from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

INSERT = """
    insert into dead_messages
        (id, queue, service, event_id, type, reason, detail, attempts, failed_at, payload, headers, replayable, state)
    values ($1, 'publisher-commands', 'publisher', gen_random_uuid(), 'content.publish', 'rejected', 'no', 1, now(), '{}', '{}', true,
            'open')
"""


@pytest.fixture
async def letters(monitor_database_url: str) -> list[UUID]:
    """Three open dead letters."""
    made = [UUID(int=number) for number in (1, 2, 3)]
    connection = await asyncpg.connect(monitor_database_url)
    try:
        await connection.executemany(INSERT, [(each,) for each in made])
    finally:
        await connection.close()
    return made


async def test_a_person_decides_by_their_name_and_a_program_by_that_of_its_key(
    console: Any,
    service_urls: dict[str, str],
    letters: list[UUID],
    person: httpx.AsyncClient,
    signed_in_as: Any,
) -> None:
    # The name of a person is not that of their key.
    async with signed_in_as("Lena", "operator") as lena:
        page = f"/dead-letters/{letters[0]}"
        done = await lena.post(
            f"{page}/decide", data={"once": "1", "do": "discard", "reason": "no use"}, follow_redirects=True
        )
        assert "<dd>Lena</dd>" in done.text
    made = await console.orchestrator.create_key(name="night-robot", scopes=["read", "operate"])
    async with httpx.AsyncClient(
        base_url=service_urls["monitor_url"],
        headers={"Authorization": f"Bearer {made['key']}"},
        trust_env=False,
    ) as robot:
        answer = await robot.post(f"/v1/dead-letters/{letters[1]}/discard", json={"reason": "no use"})
        assert answer.json()["decided_by"] == "night-robot"
        many = await robot.post(
            "/v1/dead-letters/discard", json={"ids": [str(letters[2])], "reason": "no use", "by": "Nina"}
        )
        assert many.status_code == 200, many.text
    assert "<dd>night-robot</dd>" in (await person.get(f"/dead-letters/{letters[1]}")).text
    assert "<dd>Nina</dd>" in (await person.get(f"/dead-letters/{letters[2]}")).text
