"""Who has an article in hand: of several commands to write it, one at a time is carried out.

The brand's writer keeps its steps under the id of the command, so that a replay asks a model anew. A command that is sent by
`orchestrator.workflows` to go on with an article is entered here before it is sent, with the id under which the steps are
that it goes on with.
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
class Command:
    """A `content.generate` as it was delivered."""

    content_id: UUID
    event_id: UUID
    revision: int | None
    attempt: int
    """From 1; waits are not counted."""


async def take_up(connection: Connection, command: Command, hold: timedelta) -> UUID | None:
    """Takes the article in hand for `hold` at most; what it waited for is forgotten.

    The same command takes up again what it had in hand: whoever worked on it is gone.

    Returns:
        The id under which the writer keeps its steps; None if the command is not to be carried out any more.

    Raises:
        WaitFor: another command has the article in hand.
    """
    taken = (await take_up_all(connection, [command], hold)).get(command)
    if taken is None:
        await stand_back(connection, command)
    return taken and taken.steps_id


class Taken(NamedTuple):
    """A command that was taken up."""

    steps_id: UUID
    """Under which the writer keeps its steps."""
    is_first: bool
    """Nothing was kept of the writing of its article before."""


async def take_up_all(
    connection: Connection, commands: Sequence[Command], hold: timedelta
) -> dict[Command, Taken]:
    """As `take_up`, for commands that begin at the same time; those that have to `stand_back` are left out."""
    taken: dict[Command, Taken] = {}
    waiting = list(commands)
    while waiting:
        # Of several for one article, each is to find what the one before it left.
        first = {command.content_id: command for command in reversed(waiting)}
        rows = await connection.fetch(
            """
            with begun as (
                insert into writings as w (content_id, event_id, steps_id, revision, attempt, starts, first_begun_at, begun_at,
                                           in_hand_until, changed_at)
                select content_id, event_id, event_id, revision, attempt, 1, clock_timestamp(), clock_timestamp(),
                       clock_timestamp() + $5::interval, clock_timestamp()
                from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) as c (content_id, event_id, revision, attempt)
                -- As all that lock several of them.
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
                              -- Ids of commands are in the order of their making.
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
        taken |= {first[row["content_id"]]: Taken(row["steps_id"], row["is_first"]) for row in rows}
        waiting = [command for command in waiting if first[command.content_id] is not command]
    return taken


async def is_ours(connection: Connection, command: Command) -> bool:
    """Whether the command is still the one to be carried out: it was neither cancelled, nor did another take over."""
    ours: bool = await connection.fetchval(
        "select exists (select from writings where content_id = $1 and event_id = $2 and cancelled_at is null)",
        command.content_id,
        command.event_id,
    )
    return ours


@dataclass(frozen=True, slots=True)
class PutDown:
    """What is known of the writing of an article whose command was carried out."""

    event_id: UUID
    """The command that is to be carried out."""
    cancelled: bool
    """Nothing is to come of it."""
    former_ids: frozenset[UUID] = frozenset()
    """Of the commands for the same article and revision that `event_id` replaces."""

    def others(self, event_id: UUID) -> list[UUID]:
        """The commands, other than this one, that need not be carried out once this one was."""
        return sorted({self.event_id, *self.former_ids} - {event_id})


async def release_holds(connection: Connection, content_ids: Sequence[UUID]) -> None:
    """Lets another command take these articles up at once, even if one has them in hand.

    For holds that a database without its last commits still has: who had the article in hand may be done with it.
    A writer who works on all the same stops before its next step, or stores its article first; either way there is one.
    """
    await connection.execute(
        """
        update writings as w set in_hand_until = null
        from (select content_id from writings where content_id = any($1::uuid[]) order by content_id for update) as locked
        where w.content_id = locked.content_id and w.in_hand_until is not null
        """,
        list(content_ids),
    )


async def put_down(connection: Connection, commands: Sequence[Command]) -> dict[UUID, PutDown]:
    """Notes, in the transaction of what commands led to, that they are carried out. Until it ends, nobody removes what is kept of the writing.

    Returns:
        By article; those of which nothing is kept any more are left out, such as what was deleted or erased.
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
        row["content_id"]: PutDown(row["event_id"], row["cancelled"], frozenset(row["former_ids"]))
        for row in rows
    }


async def put_down_to_wait(connection: Connection, command: Command, reason: str, wait: timedelta) -> None:
    """Notes why the writing of an article waits, and for how long from now; if it was given up meanwhile, it waits for nothing."""
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


async def note_problem(connection: Connection, command: Command, problem: str, *, final: bool) -> None:
    """Notes over what an attempt failed, and whether it was the last one."""
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


async def stand_back(connection: Connection, command: Command) -> None:
    """Says why a command could not be taken up: it is not to be carried out any more.

    Raises:
        WaitFor: another command has the article in hand.
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
