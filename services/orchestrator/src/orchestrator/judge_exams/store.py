"""SQL over exams of judges."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from envelope import new_event_id
from orchestrator.judge_exams.domain import ExamPlan, ExamState

ABANDONED: Final = timedelta(hours=1)
"""After so long without a move an exam of other questions belongs to no replica any more: the last one of its version is gone."""
_COLUMNS: Final = """
    e.exam_id, e.judge, e.version, e.questions, e.state, e.begun_by, e.begun_at, e.attempts, e.waits_for, e.ended_at, e.model,
    e.result, e.problem, e.answers_as
"""


@dataclass(frozen=True, slots=True)
class ExamRow:
    exam_id: UUID
    judge: str
    version: str
    questions: int
    state: ExamState
    begun_by: str
    begun_at: datetime
    attempts: int
    waits_for: str | None
    ended_at: datetime | None
    model: str | None
    result: Mapping[str, Any] | None
    """`ExamResult` as JSON."""
    problem: str | None
    answers_as: str | None


@dataclass(frozen=True, slots=True)
class ExamProgress:
    """How far an exam is, and what it took."""

    answered: int
    tokens_read: int
    tokens_written: int
    spent: int | None
    """Micro-dollars; None if no gateway told it."""


async def begin_exam(
    connection: Connection, judge: str, plan: ExamPlan, *, by: str, again: bool
) -> tuple[ExamRow, bool]:
    """Begins an exam and returns it with True; one that runs is returned with False, or with `again` ends in favour of the new one."""
    if again:
        await connection.execute(
            """
            update judge_exams set state = 'failed', ended_at = now(), problem = 'another exam took its place', waits_for = null
            where judge = $1 and state = 'running'
            """,
            judge,
        )
    row = await connection.fetchrow(
        f"""
        insert into judge_exams as e (exam_id, judge, version, questions, begun_by) values ($1, $2, $3, $4, $5)
        on conflict (judge) where state = 'running' do nothing returning {_COLUMNS}
        """,  # noqa: S608  (names of columns)
        new_event_id(),
        judge,
        plan.version,
        plan.questions,
        by,
    )
    if row is not None:
        return _exam(row), True
    running = await connection.fetchrow(
        f"select {_COLUMNS} from judge_exams as e where judge = $1 and state = 'running'",  # noqa: S608  (as above)
        judge,
    )
    if running is None:  # It ended at this moment.
        return await begin_exam(connection, judge, plan, by=by, again=again)
    return _exam(running), False


async def find_latest(
    connection: Connection, judges: Collection[str]
) -> dict[str, tuple[ExamRow, ExamProgress]]:
    """Returns the latest exam of each judge that has one."""
    rows = await connection.fetch(
        f"""
        select distinct on (e.judge) {_COLUMNS}, p.* from judge_exams as e, lateral (
            select count(*) filter (where step not like '%.repair') as answered,
                   coalesce(sum((answer -> 'usage' ->> 'prompt_tokens')::bigint), 0)::bigint as tokens_read,
                   coalesce(sum((answer -> 'usage' ->> 'completion_tokens')::bigint), 0)::bigint as tokens_written,
                   sum((answer ->> 'spent')::bigint)::bigint as spent
            from judge_exam_answers where exam_id = e.exam_id) as p
        where e.judge = any ($1::text[]) order by e.judge, e.begun_at desc, e.exam_id desc
        """,  # noqa: S608  (as above)
        list(judges),
    )
    return {
        row["judge"]: (
            _exam(row),
            ExamProgress(row["answered"], row["tokens_read"], row["tokens_written"], row["spent"]),
        )
        for row in rows
    }


async def claim_exam(
    connection: Connection, judges: Collection[str], version: str, lease: timedelta
) -> ExamRow | None:
    """Claims the exam that is next, for the time of the lease; None if none is due, or a replica is asking."""
    if not await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended('orchestrator.judge_exams', 0))"
    ):
        return None
    row = await connection.fetchrow(
        f"""
        update judge_exams as e set claimed_until = clock_timestamp() + $3::interval
        where exam_id = (
            select exam_id from judge_exams
            where state = 'running' and judge = any ($1::text[]) and due_at <= now()
              and (version = $2 or moved_at < now() - $4::interval)
              and not exists (select from judge_exams where state = 'running' and claimed_until >= now())
            order by begun_at limit 1)
        returning {_COLUMNS}
        """,  # noqa: S608  (as above)
        list(judges),
        version,
        lease,
        ABANDONED,
    )
    return None if row is None else _exam(row)


async def release_exam(
    connection: Connection,
    exam: ExamRow,
    *,
    after: timedelta = timedelta(),
    attempts: int = 0,
    waits_for: str | None = None,
) -> None:
    await connection.execute(
        """
        update judge_exams set claimed_until = null, moved_at = now(), due_at = now() + $2::interval, attempts = $3, waits_for = $4
        where exam_id = $1 and state = 'running'
        """,
        exam.exam_id,
        after,
        attempts,
        waits_for,
    )


async def end_exam(
    connection: Connection,
    exam: ExamRow,
    state: ExamState,
    *,
    model: str | None = None,
    result: str | None = None,
    problem: str | None = None,
) -> None:
    """Ends a running exam; `result` is JSON."""
    await connection.execute(
        """
        update judge_exams set state = $2, model = $3, result = $4::jsonb, problem = $5,
            ended_at = now(), claimed_until = null, waits_for = null
        where exam_id = $1 and state = 'running'
        """,
        exam.exam_id,
        state.value,
        model,
        result,
        problem,
    )


async def load_answers(connection: Connection, exam_id: UUID) -> dict[str, str]:
    """Returns the stored answers by step, as JSON."""
    rows = await connection.fetch("select step, answer from judge_exam_answers where exam_id = $1", exam_id)
    return {row["step"]: row["answer"] for row in rows}


async def store_answer(connection: Connection, exam_id: UUID, step: str, answer: str) -> str:
    """Stores an answer, unless another replica has; returns the one that is stored."""
    await connection.execute(
        "insert into judge_exam_answers (exam_id, step, answer) values ($1, $2, $3::jsonb) on conflict do nothing",
        exam_id,
        step,
        answer,
    )
    stored: str = await connection.fetchval(
        "select answer from judge_exam_answers where exam_id = $1 and step = $2", exam_id, step
    )
    return stored


def _exam(row: asyncpg.Record) -> ExamRow:
    values = {name: row[name] for name in ExamRow.__dataclass_fields__}
    values["state"] = ExamState(row["state"])
    values["result"] = row["result"] and json.loads(row["result"])
    return ExamRow(**values)
