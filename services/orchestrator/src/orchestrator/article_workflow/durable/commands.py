"""Claims on articles: of several commands to write one article, one runs at a time.

The brand's writer stores its steps under the id of the command, so that a replay asks a model again. A command from
`orchestrator.workflows` that continues an article is entered here before it is sent, with the id of the steps that it
continues.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import UUID

import structlog

from chassis import Connection
from messaging import WaitFor

TWIN: Final = "another command to write the same article"
MAX_PROBLEM: Final = 2000
_SOON: Final = timedelta(seconds=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveredCommand:
    """One delivery of a `content.generate`."""

    content_id: UUID
    event_id: UUID
    revision: int | None
    attempt: int
    """From 1; waits are not counted."""


async def claim_article(connection: Connection, command: DeliveredCommand, hold: timedelta) -> UUID | None:
    """Claims the article for at most `hold`, and clears its noted wait.

    A command may claim again what it claimed before: its earlier worker is gone.

    Returns:
        The id of the writer's steps; None if the command must not run any more.

    Raises:
        WaitFor: another command has claimed the article.
    """
    taken = (await claim_articles(connection, [command], hold)).get(command)
    if taken is None:
        await check_not_claimed(connection, command)
    return taken and taken.steps_id


class ClaimedCommand(NamedTuple):
    """A successful claim."""

    steps_id: UUID
    """The id of the writer's steps."""
    is_first: bool
    """True if no earlier command for the article is stored."""


async def claim_articles(
    connection: Connection, commands: Sequence[DeliveredCommand], hold: timedelta
) -> dict[DeliveredCommand, ClaimedCommand]:
    """Claims the articles of several commands; leaves out failed claims, for which `check_not_claimed` gives the reason."""
    taken: dict[DeliveredCommand, ClaimedCommand] = {}
    waiting = list(commands)
    while waiting:
        # Commands for the same article claim one after the other.
        first = {command.content_id: command for command in reversed(waiting)}
        rows = await connection.fetch(
            """
            with begun as (
                insert into writings as w (content_id, event_id, steps_id, revision, attempt, starts, first_begun_at, begun_at,
                                           in_hand_until, changed_at)
                select content_id, event_id, event_id, revision, attempt, 1, clock_timestamp(), clock_timestamp(),
                       clock_timestamp() + $5::interval, clock_timestamp()
                from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) as c (content_id, event_id, revision, attempt)
                -- The same order in all statements that lock several rows.
                order by content_id
                on conflict (content_id) do update
                    set event_id = excluded.event_id, revision = excluded.revision, attempt = excluded.attempt,
                        steps_id = case when w.event_id = excluded.event_id then w.steps_id else excluded.steps_id end,
                        starts = case when w.event_id = excluded.event_id then w.starts + 1 else 1 end,
                        first_begun_at = case
                            when w.event_id = excluded.event_id then coalesce(w.first_begun_at, excluded.first_begun_at)
                            else excluded.first_begun_at end,
                        problem = case when w.event_id = excluded.event_id then w.problem end,
                        former_ids = case
                            when w.revision is distinct from excluded.revision then '{}'
                            when w.event_id = excluded.event_id then w.former_ids
                            else array_append(w.former_ids, w.event_id) end,
                        begun_at = excluded.begun_at, in_hand_until = excluded.in_hand_until, failed_at = null,
                        changed_at = excluded.changed_at
                    where w.cancelled_at is null
                      and (w.event_id = excluded.event_id
                           or coalesce(w.in_hand_until < clock_timestamp(), true)
                              -- Ids of commands grow with time.
                              and (w.retried_at is null or w.failed_at is not null or w.event_id < excluded.event_id
                                   or w.revision is distinct from excluded.revision))
                returning content_id, steps_id, xmax = 0 as is_first
            ), forgotten as (
                delete from writing_waits where content_id in (select content_id from begun)
            )
            select content_id, steps_id, is_first from begun
            """,
            list(first),
            [command.event_id for command in first.values()],
            [command.revision for command in first.values()],
            [command.attempt for command in first.values()],
            hold,
        )
        taken |= {first[row["content_id"]]: ClaimedCommand(row["steps_id"], row["is_first"]) for row in rows}
        waiting = [command for command in waiting if first[command.content_id] is not command]
    return taken


async def has_claim(connection: Connection, command: DeliveredCommand) -> bool:
    """Whether the command still holds its claim: it is neither cancelled nor superseded."""
    ours: bool = await connection.fetchval(
        "select exists (select from writings where content_id = $1 and event_id = $2 and cancelled_at is null)",
        command.content_id,
        command.event_id,
    )
    return ours


@dataclass(frozen=True, slots=True)
class ReleasedWriting:
    """The state of an article's writing when a command for it ends."""

    event_id: UUID
    """The current command."""
    cancelled: bool
    """True if a person cancelled the article; nothing is stored then."""
    former_ids: frozenset[UUID] = frozenset()
    """Ids of earlier commands for the same article and revision, which `event_id` replaced."""

    def other_commands(self, event_id: UUID) -> list[UUID]:
        """Returns the other commands, which need not run after this one."""
        return sorted({self.event_id, *self.former_ids} - {event_id})


async def release_holds(connection: Connection, content_ids: Sequence[UUID]) -> None:
    """Lets other commands claim these articles at once, for claims that a database without its last commits still has.

    The worker may be done with the article. One that still works on it stops before its next step, or stores its
    article first; either way there is one article.
    """
    await connection.execute(
        """
        update writings as w set in_hand_until = null
        from (select content_id from writings where content_id = any($1::uuid[]) order by content_id for update) as locked
        where w.content_id = locked.content_id and w.in_hand_until is not null
        """,
        list(content_ids),
    )


async def release_articles(
    connection: Connection, commands: Sequence[DeliveredCommand]
) -> dict[UUID, ReleasedWriting]:
    """Releases the claims of commands, in the transaction that stores their results; locks the rows until it ends.

    Returns:
        By article id; articles without a row, such as deleted ones, are left out.
    """
    rows = await connection.fetch(
        """
        update writings as w
        set in_hand_until = case when w.event_id = any ($2::uuid[]) then null else w.in_hand_until end, changed_at = clock_timestamp()
        from (select content_id from writings where content_id = any ($1::uuid[]) order by content_id for update) as locked
        where w.content_id = locked.content_id
        returning w.content_id, w.event_id, w.cancelled_at is not null as cancelled, w.former_ids
        """,
        [command.content_id for command in commands],
        [command.event_id for command in commands],
    )
    return {
        row["content_id"]: ReleasedWriting(row["event_id"], row["cancelled"], frozenset(row["former_ids"]))
        for row in rows
    }


async def release_to_wait(
    connection: Connection, command: DeliveredCommand, reason: str, wait: timedelta
) -> None:
    """Releases a claim and notes why, and from now how long, the article waits; does nothing after a cancellation."""
    await connection.execute(
        """
        with put_down as (
            update writings set in_hand_until = null, problem = null, changed_at = clock_timestamp()
            where content_id = $1 and event_id = $4 and cancelled_at is null returning content_id
        )
        insert into writing_waits (content_id, reason, until)
        select content_id, $2, clock_timestamp() + $3::interval from put_down
        on conflict (content_id) do update set reason = excluded.reason, until = excluded.until
        """,
        command.content_id,
        reason,
        wait,
        command.event_id,
    )


async def note_problem(
    connection: Connection, command: DeliveredCommand, problem: str, *, final: bool
) -> None:
    """Releases a claim and notes the problem of a failed attempt; `final` means that no attempt follows."""
    await connection.execute(
        """
        update writings
        set in_hand_until = null, problem = $3, failed_at = case when $4 then clock_timestamp() end,
            changed_at = clock_timestamp()
        where content_id = $1 and event_id = $2
        """,
        command.content_id,
        command.event_id,
        problem.replace("\x00", "")[:MAX_PROBLEM],
        final,
    )


async def check_not_claimed(connection: Connection, command: DeliveredCommand) -> None:
    """Logs that a command was superseded or cancelled; returns if it must not run any more.

    Raises:
        WaitFor: another command has claimed the article.
    """
    row = await connection.fetchrow(
        """
        select event_id, cancelled_at is not null as cancelled, in_hand_until - clock_timestamp() as left
        from writings where content_id = $1
        """,
        command.content_id,
    )
    busy = row is not None and row["left"] is not None and row["left"] > timedelta()
    if row is None or (busy and not row["cancelled"]):
        left = row["left"] if row is not None else _SOON
        raise WaitFor(TWIN, f"article {command.content_id} is in hand", after=max(left, _SOON))
    log.info(
        "command_stands_back",
        content_id=str(command.content_id),
        event_id=str(command.event_id),
        cancelled=row["cancelled"],
        in_favour_of=str(row["event_id"]),
    )
