"""SQL over the steps of workflows, beside the functions that run it."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from chassis import Connection


async def results_of(connection: Connection, workflow_id: UUID) -> dict[str, str]:
    """The results, as JSON, of those steps of a workflow that have one."""
    rows = await connection.fetch(
        "select step, result::text as result from workflow_steps where workflow_id = $1", workflow_id
    )
    return {row["step"]: row["result"] for row in rows}


async def insert_result(
    connection: Connection, workflow_id: UUID, step: str, result: str, took: timedelta
) -> str | None:
    """Stores the result of a step, or returns the one that a replica has stored meanwhile.

    The connection must not be in a transaction.
    """
    inserted = await connection.fetchval(
        """
        insert into workflow_steps (workflow_id, step, result, begun_at)
        values ($1, $2, $3::text::jsonb, now() - $4::interval)
        on conflict do nothing returning true
        """,
        workflow_id,
        step,
        result,
        took,
    )
    if inserted:
        return None
    # A second statement, because only a new snapshot shows the row of a replica that was faster.
    stored: str = await connection.fetchval(
        "select result::text from workflow_steps where workflow_id = $1 and step = $2", workflow_id, step
    )
    return stored


async def finish_steps(connection: Connection, workflow_id: UUID, steps: Sequence[str]) -> set[str]:
    """Marks steps without a result as done; returns those not done before."""
    rows = await connection.fetch(
        """
        insert into workflow_steps (workflow_id, step, result) select $1, step, 'null' from unnest($2::text[]) as step
        on conflict do nothing returning step
        """,
        workflow_id,
        steps,
    )
    return {row["step"] for row in rows}


async def delete_old_workflows(connection: Connection, older_than: timedelta, limit: int) -> int:
    """Deletes what is known of the writing of articles; it serves only until they are stored. Returns how many rows went, at most."""
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
            delete from writings where content_id in (
                select content_id from writings
                where changed_at < now() - $1::interval
                order by changed_at limit $2 for update skip locked
            )
            """,
        )
    ]
    return max(int(status.split()[-1]) for status in deleted)
