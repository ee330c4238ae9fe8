"""The steps of a workflow and their states. Pure: no I/O, no clock, no randomness."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID, uuid5

FIRST: Final = ("fetch_research",)
LAST: Final = ("write_article", "store", "announce")
"""The steps of every workflow; between the two lists come the writer's own, which are part of `write_article`."""


class WorkflowState(StrEnum):
    WAITING = "waiting"
    """Waits for its turn, a budget, a model or research; `waits` says which."""
    RUNNING = "running"
    """It is being written, or its command is in the queue."""
    STUCK = "stuck"
    """Under way without a sign of progress for too long, and without a known wait that would explain it."""
    DONE = "done"
    """The article is stored."""
    REFUSED = "refused"
    """It ended without an article: the sources support none."""
    FAILED = "failed"
    CANCELLED = "cancelled"


class StepState(StrEnum):
    DONE = "done"
    UNDER_WAY = "under_way"
    WAITING = "waiting"
    STUCK = "stuck"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PENDING = "pending"
    """Earlier steps are not done yet."""


_OF_THE_NEXT: Final = {
    WorkflowState.WAITING: StepState.WAITING,
    WorkflowState.RUNNING: StepState.UNDER_WAY,
    WorkflowState.STUCK: StepState.STUCK,
    WorkflowState.DONE: StepState.PENDING,
    WorkflowState.REFUSED: StepState.REFUSED,
    WorkflowState.FAILED: StepState.FAILED,
    WorkflowState.CANCELLED: StepState.CANCELLED,
}
"""The state of the first unfinished step, by the state of its workflow."""


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step with a result."""

    name: str
    begun_at: datetime | None
    """None if unknown: steps that take no time, and old rows, have no start."""
    finished_at: datetime
    bytes: int | None
    """Bytes of its result as JSON; None if it has no result of its own."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """Tokens that a model read and wrote for it; None if it asked no model."""


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    name: str
    state: StepState
    finished: FinishedStep | None = None


def order_steps(finished: Sequence[FinishedStep], state: WorkflowState) -> tuple[WorkflowStep, ...]:
    """Returns all known steps of a workflow in order: finished ones, and the unfinished ones of every workflow."""
    known = {each.name: each for each in finished}
    own = sorted(
        (each for each in finished if each.name not in {*FIRST, *LAST}),
        key=lambda each: (each.finished_at, each.name),
    )
    steps: list[WorkflowStep] = []
    following = _OF_THE_NEXT[state]
    for name in (*FIRST, *(each.name for each in own), *LAST):
        if name in known:
            steps.append(WorkflowStep(name, StepState.DONE, known[name]))
        else:
            steps.append(WorkflowStep(name, following))
            following = StepState.PENDING
    return tuple(steps)


def workflow_id(content_id: UUID, revision: int | None) -> UUID:
    """Returns the id of an article's workflow; the writer's own steps have another one."""
    return content_id if revision is None else uuid5(content_id, f"revision {revision}")
