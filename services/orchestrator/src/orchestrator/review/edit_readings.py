"""SQL over versions that people stored; a judge reads their changed sentences."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from chassis import Connection
from writing.marked_article import ReadSentence


@dataclass(frozen=True, slots=True)
class EditReading:
    """A version that is to be read."""

    content_id: UUID
    version: int
    attempts: int
    answers: dict[str, str]
    """The judge's stored answers by step, as JSON."""
    brand_slug: str


@dataclass(frozen=True, slots=True)
class EditReadingProgress:
    """How far the reading of a version is."""

    state: str
    """`waiting`, `done`, or `failed`."""
    waits_for: str | None
    problem: str | None


async def request(connection: Connection, content_id: UUID, version: int) -> None:
    """Has a version read, once."""
    await connection.execute(
        "insert into edit_readings (content_id, version) values ($1, $2) on conflict do nothing",
        content_id,
        version,
    )


async def find_progress(connection: Connection, content_id: UUID, version: int) -> EditReadingProgress | None:
    """Returns the progress of a version's reading; None if none was requested."""
    row = await connection.fetchrow(
        """
        select case when ended_at is null then 'waiting' when problem is null then 'done' else 'failed' end as state,
               waits_for, problem
        from edit_readings where content_id = $1 and version = $2
        """,
        content_id,
        version,
    )
    return None if row is None else EditReadingProgress(**row)


async def claim(connection: Connection, lease: timedelta) -> EditReading | None:
    """Claims the version that is next, for the time of the lease; None if none is due."""
    row = await connection.fetchrow(
        """
        update edit_readings as r set claimed_until = clock_timestamp() + $1::interval
        from content as c
        where c.content_id = r.content_id and (r.content_id, r.version) = (
            select content_id, version from edit_readings
            where ended_at is null and due_at <= now() and (claimed_until is null or claimed_until < now())
            order by due_at limit 1 for update skip locked)
        returning r.content_id, r.version, r.attempts, r.answers, c.brand_slug
        """,
        lease,
    )
    if row is None:
        return None
    answers = {step: json.dumps(answer) for step, answer in json.loads(row["answers"]).items()}
    return EditReading(row["content_id"], row["version"], row["attempts"], answers, row["brand_slug"])


async def store_answer(connection: Connection, reading: EditReading, step: str, answer: str) -> None:
    await connection.execute(
        """
        update edit_readings set answers = answers || jsonb_build_object($3::text, $4::jsonb)
        where content_id = $1 and version = $2
        """,
        reading.content_id,
        reading.version,
        step,
        answer,
    )


async def release(
    connection: Connection, reading: EditReading, *, after: timedelta, attempts: int, waits_for: str
) -> None:
    await connection.execute(
        """
        update edit_readings set claimed_until = null, due_at = now() + $3::interval, attempts = $4, waits_for = $5
        where content_id = $1 and version = $2 and ended_at is null
        """,
        reading.content_id,
        reading.version,
        after,
        attempts,
        waits_for,
    )


async def end(
    connection: Connection,
    reading: EditReading,
    sentences: Sequence[ReadSentence] = (),
    *,
    problem: str | None = None,
) -> None:
    """Stores what was found, or why nothing was; the answers are not needed any more."""
    await connection.execute(
        """
        update edit_readings set ended_at = now(), claimed_until = null, waits_for = null, answers = '{}', sentences = $3::jsonb,
            problem = $4
        where content_id = $1 and version = $2 and ended_at is null
        """,
        reading.content_id,
        reading.version,
        json.dumps([asdict(each) for each in sentences]),
        problem,
    )
