"""SQL over the steps of workflows."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from chassis import Connection

LARGE: Final = 64 * 1024
"""Bytes; a larger result is stored in `blobs` by its digest, and the step refers to it."""

_INSERT: Final = """
    insert into workflow_steps (workflow_id, step, result, begun_at)
    select $1, $2, $4::text::jsonb, now() - $3::interval
    where not exists (select from large_results where (workflow_id, step) = ($1, $2))
    on conflict do nothing returning true
"""
_INSERT_LARGE: Final = """
    with kept as (
        insert into blobs (digest, content, bytes) select $4, $5, $6
        where not exists (select from workflow_steps where (workflow_id, step) = ($1, $2))
        -- Locks it, and keeps the clean-up from deleting it.
        on conflict (digest) do update set referenced_at = clock_timestamp()
        returning digest
    )
    insert into large_results (workflow_id, step, digest, begun_at) select $1, $2, digest, now() - $3::interval from kept
    on conflict do nothing returning true
"""


async def results_of(connection: Connection, workflow_id: UUID, step: str | None = None) -> dict[str, str]:
    """Returns the results of a workflow's finished steps as JSON, by step; with `step`, only of that one."""
    rows = await connection.fetch(
        """
        select step, result::text as result from workflow_steps where workflow_id = $1 and ($2::text is null or step = $2)
        union all
        select step, content from large_results as r join blobs using (digest)
        where workflow_id = $1 and ($2::text is null or step = $2)
          -- The previous version repeats such a step, and continues with its own result.
          and not exists (select from workflow_steps as s where (s.workflow_id, s.step) = (r.workflow_id, r.step))
        """,
        workflow_id,
        step,
    )
    return {row["step"]: row["result"] for row in rows}


async def results_of_all(
    connection: Connection, workflow_ids: Collection[UUID]
) -> dict[UUID, dict[str, str]]:
    """Returns the results of several workflows; those without any are left out."""
    rows = await connection.fetch(
        """
        select workflow_id, step, result::text as result from workflow_steps where workflow_id = any ($1::uuid[])
        union all
        select workflow_id, step, content from large_results as r join blobs using (digest)
        where workflow_id = any ($1::uuid[])
          and not exists (select from workflow_steps as s where (s.workflow_id, s.step) = (r.workflow_id, r.step))
        """,
        list(workflow_ids),
    )
    results: dict[UUID, dict[str, str]] = {}
    for row in rows:
        results.setdefault(row["workflow_id"], {})[row["step"]] = row["result"]
    return results


async def insert_result(
    connection: Connection, workflow_id: UUID, step: str, result: str, took: timedelta
) -> str | None:
    """Stores the result of a step; returns None, or the result that another replica has stored meanwhile.

    The connection must not be in a transaction.
    """
    content = result.encode()
    if len(content) > LARGE:
        digest = hashlib.sha256(content).digest()
        inserted = await connection.fetchval(
            _INSERT_LARGE, workflow_id, step, took, digest, result, len(content)
        )
    else:
        inserted = await connection.fetchval(_INSERT, workflow_id, step, took, result)
    if inserted:
        return None
    # A second statement, because only a new snapshot shows the row of a faster replica.
    return (await results_of(connection, workflow_id, step))[step]


@dataclass(frozen=True, slots=True)
class UnsavedStep:
    """A finished step without a row yet."""

    step: str
    result: str = "null"
    """JSON of at most `LARGE` bytes."""
    took: timedelta | None = None
    """None: it took no time."""
    ago: timedelta = timedelta()
    """The time since its end."""


async def finish_steps(
    connection: Connection, steps: Sequence[tuple[UUID, UnsavedStep]]
) -> set[tuple[UUID, str]]:
    """Stores finished steps; returns those that had no row before."""
    rows = await connection.fetch(
        """
        insert into workflow_steps (workflow_id, step, result, begun_at, finished_at)
        select workflow_id, step, result::jsonb, now() - ago - took, now() - ago
        from unnest($1::uuid[], $2::text[], $3::text[], $4::interval[], $5::interval[])
            as done (workflow_id, step, result, took, ago)
        where not exists (select from large_results as r where (r.workflow_id, r.step) = (done.workflow_id, done.step))
        on conflict do nothing returning workflow_id, step
        """,
        [workflow_id for workflow_id, _ in steps],
        [each.step for _, each in steps],
        [each.result for _, each in steps],
        [each.took for _, each in steps],
        [each.ago for _, each in steps],
    )
    return {(row["workflow_id"], row["step"]) for row in rows}


async def delete_results(connection: Connection, workflow_id: UUID) -> None:
    """Deletes a workflow's results; the clean-up deletes large ones once nothing refers to them."""
    await connection.execute("delete from workflow_steps where workflow_id = $1", workflow_id)
    await connection.execute("delete from large_results where workflow_id = $1", workflow_id)


async def delete_old_workflows(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Deletes old steps and claims, which are needed only until an article is stored. Returns the largest row count."""
    deleted = [
        await connection.execute(statement, older_than, limit)
        for statement in (
            """
            delete from workflow_steps where (workflow_id, step) in (
                select workflow_id, step from workflow_steps
                where finished_at < now() - $1::interval
                order by finished_at limit $2 for update skip locked
            )
            """,
            """
            delete from large_results where (workflow_id, step) in (
                select workflow_id, step from large_results
                where finished_at < now() - $1::interval
                order by finished_at limit $2 for update skip locked
            )
            """,
            # After the rows that referred to them.
            """
            delete from blobs where digest in (
                select digest from blobs as b
                where referenced_at < now() - $1::interval
                  and not exists (select from large_results as r where r.digest = b.digest)
                order by referenced_at limit $2 for update skip locked
            )
            """,
            """
            delete from writings where content_id in (
                select content_id from writings
                where changed_at < now() - $1::interval
                order by changed_at limit $2 for update skip locked
            )
            """,
        )
    ]
    return max(int(status.split()[-1]) for status in deleted)
