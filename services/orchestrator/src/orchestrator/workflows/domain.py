"""What the steps of a workflow are, and in which state each is. Pure: no I/O, no clock, no randomness."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID, uuid5

FIRST: Final = ("fetch_research",)
LAST: Final = ("write_article", "store", "announce")
"""The steps of every workflow; between those of the two lists are the writer's own, which are part of `write_article`."""


class WorkflowState(StrEnum):
    WAITING = "waiting"
    """For its turn, a budget, a model, research; `waits` says for what."""
    RUNNING = "running"
    """It is being written, or its command is in the queue."""
    STUCK = "stuck"
    """Under way, without a sign of it for so long that nobody seems to work on it, and no wait is known that would explain it."""
    DONE = "done"
    """The article is stored."""
    REFUSED = "refused"
    """It ended without an article: the sources give none."""
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
    """The steps before it are not done."""


_OF_THE_NEXT: Final = {
    WorkflowState.WAITING: StepState.WAITING,
    WorkflowState.RUNNING: StepState.UNDER_WAY,
    WorkflowState.STUCK: StepState.STUCK,
    WorkflowState.DONE: StepState.PENDING,
    WorkflowState.REFUSED: StepState.REFUSED,
    WorkflowState.FAILED: StepState.FAILED,
    WorkflowState.CANCELLED: StepState.CANCELLED,
}
"""The state of the first step without a result, by the state of its workflow."""


@dataclass(frozen=True, slots=True)
class FinishedStep:
    """A step that has a result."""

    name: str
    begun_at: datetime | None
    """None if it is not known: of steps that take no time, and of those from before it was noted."""
    finished_at: datetime
    bytes: int | None
    """Of its result as JSON; None if it has none beyond being done."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """What a model read and wrote for it; None if none was asked."""


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    name: str
    state: StepState
    finished: FinishedStep | None = None


def in_order(finished: Sequence[FinishedStep], state: WorkflowState) -> tuple[WorkflowStep, ...]:
    """All steps that are known of a workflow: those that are done, and those of every workflow that are not."""
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
    """Under which the steps of an article's writing are kept, but for the writer's own."""
    return content_id if revision is None else uuid5(content_id, f"revision {revision}")
