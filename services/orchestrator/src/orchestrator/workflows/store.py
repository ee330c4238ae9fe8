"""SQL over workflows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.workflows.domain import FinishedStep, WorkflowState, workflow_id

_TURN: Final = "waits for its turn: its brand has as many articles in hand as any may have at a time"

_SELECT: Final = """
    select k.content_id, k.cycle_id, c.correlation_id, c.brand_slug, k.keyword, state.state, g.steps_id,
           case when a.decision = 'returned' then r.revision else g.revision end as revision,
           k.awaits_turn, w.reason as waits, w.until as waits_until, coalesce(g.problem, k.reason) as problem,
           coalesce(g.attempt, 0) as attempt, coalesce(g.starts, 0) as starts, g.first_begun_at, g.begun_at,
           coalesce(g.in_hand_until > clock_timestamp(), false) as in_hand, sign.at as last_sign_at,
           coalesce(g.retries, 0) as retries, g.retried_at, g.retried_by, g.cancelled_at, g.cancelled_by
    from keywords as k
        join cycles as c using (cycle_id)
        left join writings as g using (content_id)
        left join writing_waits as w using (content_id)
        left join content as a using (content_id)
        left join lateral (
            select max(version) + 1 as revision, max(made_at) as made_at from (
                select version, null::timestamptz as made_at from content_versions where content_id = k.content_id
                union all select null, made_at from decisions where content_id = k.content_id
            ) as known where a.decision = 'returned'
        ) as r on true
        left join lateral (
            select max(finished_at) as at, bool_or(workflow_id = k.content_id and step = 'store') as stored
            from workflow_steps where workflow_id in (k.content_id, g.steps_id)
        ) as s on true
        cross join lateral (select greatest(k.moved_at, g.changed_at, s.at, w.until, r.made_at) as at) as sign
        cross join lateral (
            select case
                when a.decision = 'returned' or k.state = 'writing' and s.stored is not true then case
                    when k.awaits_turn then 'waiting'
                    when g.failed_at is not null then 'failed'
                    when sign.at < clock_timestamp() - $1::interval then 'stuck'
                    when w.content_id is not null then 'waiting'
                    else 'running' end
                when s.stored or k.generated or k.published_url is not null or k.state in ('needs_review', 'rejected') then 'done'
                when k.state in ('cancelled', 'refused', 'failed') then k.state
                else 'done' end as state
        ) as state
    where k.content_id is not null
"""
"""$1: the time without progress after which a workflow under way is stuck."""

_IDS_UNDER_WAY: Final = """
    select content_id from keywords where state = 'writing' and content_id is not null
    union all
    select content_id from content where decision = 'returned'
"""
_IDS_FAILED: Final = (
    "select content_id from keywords where state = 'failed' and content_id is not null and not generated"
)
_POSSIBLE: Final = {
    **dict.fromkeys((WorkflowState.WAITING, WorkflowState.RUNNING, WorkflowState.STUCK), _IDS_UNDER_WAY),
    WorkflowState.FAILED: f"{_IDS_UNDER_WAY} union all {_IDS_FAILED}",
}
"""The articles that may be in each state; the others are in any."""


@dataclass(frozen=True, slots=True)
class ArticleWorkflow:
    """The state of an article's writing; of the latest one, after a rewrite."""

    content_id: UUID
    cycle_id: UUID
    correlation_id: str
    brand_slug: str
    keyword: str
    state: WorkflowState
    revision: int | None
    steps_id: UUID | None
    """The id of the writer's own steps; None if unknown."""
    waits: str | None
    waits_until: datetime | None
    problem: str | None
    attempt: int
    """Attempts of the current command without waits; 0 before the first."""
    starts: int
    """Its starts, including those after waits."""
    first_begun_at: datetime | None
    begun_at: datetime | None
    in_hand: bool
    last_sign_at: datetime
    retries: int
    retried_at: datetime | None
    retried_by: str | None
    cancelled_at: datetime | None
    cancelled_by: str | None


async def find_workflow(
    connection: Connection, content_id: UUID, brands: Sequence[str] | None, *, stuck_after: timedelta
) -> ArticleWorkflow | None:
    """Returns the article's workflow; with `brands`, only if it belongs to one of them."""
    row = await connection.fetchrow(
        f"{_SELECT} and k.content_id = $2 and ($3::text[] is null or c.brand_slug = any ($3))",
        stuck_after,
        content_id,
        brands,
    )
    return None if row is None else _workflow(row)


async def workflows(
    connection: Connection,
    *,
    brands: Sequence[str] | None,
    state: WorkflowState | None,
    after: UUID | None,
    limit: int,
    stuck_after: timedelta,
) -> list[ArticleWorkflow]:
    """Returns a page of workflows of these brands, or of all, in the order of their start."""
    # First those that may be in the state, which are few, with `offset 0` so that it stays so: drafts that wait are many.
    possible = (
        f"(select * from keywords where content_id = any (array ({_POSSIBLE[state]})) offset 0)"  # noqa: S608  (constants of this module)
        if state in _POSSIBLE
        else "keywords"
    )
    rows = await connection.fetch(
        f"""{_SELECT.replace("from keywords as k", f"from {possible} as k", 1)}
        and ($2::text[] is null or c.brand_slug = any ($2))
        and ($3::uuid is null or k.content_id > $3) and ($4::text is null or state.state = $4)
        order by k.content_id limit $5""",
        stuck_after,
        brands,
        after,
        state,
        limit,
    )
    return [_workflow(row) for row in rows]


async def count_by_state(connection: Connection, stuck_after: timedelta) -> dict[str, float]:
    """Returns the number of workflows under way by state, without those that wait for their turn."""
    rows = await connection.fetch(
        f"""
        select state, count(*) as workflows
        from ({_SELECT} and k.state = 'writing' and not k.awaits_turn) as under_way group by state
        """,  # noqa: S608  (a constant of this module)
        stuck_after,
    )
    counts = dict.fromkeys((WorkflowState.RUNNING, WorkflowState.WAITING, WorkflowState.STUCK), 0.0)
    return {**counts, **{row["state"]: float(row["workflows"]) for row in rows if row["state"] in counts}}


async def finished_steps(connection: Connection, workflow: ArticleWorkflow) -> list[FinishedStep]:
    """Returns the steps with a result, including the writer's own."""
    rows = await connection.fetch(
        """
        select step as name, begun_at, finished_at, nullif(octet_length(result::text), 4) as bytes,
               (result #>> '{usage,prompt_tokens}')::int as prompt_tokens,
               (result #>> '{usage,completion_tokens}')::int as completion_tokens
        from workflow_steps where workflow_id = any ($1::uuid[])
        union all
        select step, begun_at, finished_at, bytes, null, null
        from large_results as r join blobs using (digest)
        where workflow_id = any ($1::uuid[])
          and not exists (select from workflow_steps as s where (s.workflow_id, s.step) = (r.workflow_id, r.step))
        """,
        _ids(workflow),
    )
    return [FinishedStep(**row) for row in rows]


async def step_result(connection: Connection, workflow: ArticleWorkflow, step: str) -> str | None:
    """Returns the result of a step as JSON; None if it has none."""
    result: str | None = await connection.fetchval(
        """
        select result::text from workflow_steps where workflow_id = any ($1::uuid[]) and step = $2 and result <> 'null'
        union all
        select content from large_results join blobs using (digest) where workflow_id = any ($1::uuid[]) and step = $2
        limit 1
        """,
        _ids(workflow),
        step,
    )
    return result


async def lock_writing(connection: Connection, content_id: UUID) -> None:
    """Locks the article's writing until the transaction ends, so that no writer stores anything."""
    await connection.execute("select from writings where content_id = $1 for update", content_id)


async def set_current_command(
    connection: Connection,
    workflow: ArticleWorkflow,
    event_id: UUID,
    steps_id: UUID,
    *,
    by: str,
    former_ids: Sequence[UUID] = (),
) -> None:
    """Makes a command the current one, and names the steps that it continues; earlier commands are superseded.

    Args:
        connection: in the transaction that sends the command.
        workflow: the article's.
        event_id: the command's.
        steps_id: id of its writer's steps.
        by: name of the person or caller.
        former_ids: other commands for the same work that it replaces, besides the last one.
    """
    await connection.execute(
        """
        with forgotten as (delete from writing_waits where content_id = $1)
        insert into writings as w (content_id, event_id, steps_id, revision, retries, retried_at, retried_by, former_ids)
        values ($1, $2, $3, $4, 1, clock_timestamp(), $5, $6)
        on conflict (content_id) do update
            set event_id = excluded.event_id, steps_id = excluded.steps_id, revision = excluded.revision, attempt = 0,
                starts = 0, first_begun_at = null, begun_at = null, in_hand_until = null, problem = null,
                failed_at = null, retries = w.retries + 1, retried_at = excluded.retried_at,
                retried_by = excluded.retried_by, changed_at = clock_timestamp(),
                former_ids = excluded.former_ids || case
                    when w.revision is distinct from excluded.revision then '{}'
                    else array_append(w.former_ids, w.event_id) end
        """,
        workflow.content_id,
        event_id,
        steps_id,
        workflow.revision,
        by,
        former_ids,
    )


async def record_cancellation(connection: Connection, content_id: UUID, *, by: str) -> None:
    """Cancels the article's writing: no command for it runs any more."""
    await connection.execute(
        """
        with forgotten as (delete from writing_waits where content_id = $1)
        insert into writings (content_id, event_id, steps_id, cancelled_at, cancelled_by)
        values ($1, gen_random_uuid(), gen_random_uuid(), clock_timestamp(), $2)
        on conflict (content_id) do update
            set cancelled_at = excluded.cancelled_at, cancelled_by = excluded.cancelled_by, changed_at = clock_timestamp()
        """,
        content_id,
        by,
    )


async def find_returned_draft(connection: Connection, content_id: UUID) -> tuple[UUID, str]:
    """Returns the research id of a returned draft, and the reviewer's comment."""
    row = await connection.fetchrow(
        """
        select c.research_id, d.comment from content as c join decisions as d using (content_id)
        where content_id = $1 and d.decision = 'returned' order by d.decision_id desc limit 1
        """,
        content_id,
    )
    assert row is not None
    return row["research_id"], row["comment"]


def _ids(workflow: ArticleWorkflow) -> list[UUID]:
    own = workflow_id(workflow.content_id, workflow.revision)
    return [own] if workflow.steps_id is None else [own, workflow.steps_id]


def _workflow(row: asyncpg.Record) -> ArticleWorkflow:
    values = dict(row)
    state = WorkflowState(values.pop("state"))
    waits = _TURN if values.pop("awaits_turn") else values["waits"]
    if state is not WorkflowState.WAITING:
        waits, values["waits_until"] = None, None
    return ArticleWorkflow(**{**values, "state": state, "waits": waits})
