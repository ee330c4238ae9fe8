"""API views of workflows: their steps, and the addresses of results, which may be large."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from urllib.parse import quote
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.requests import RequestBody
from orchestrator.workflows.domain import FinishedStep, StepState, WorkflowState, WorkflowStep, order_steps
from orchestrator.workflows.store import ArticleWorkflow


class ResultView(View):
    """The address and size of a step's result."""

    bytes: Annotated[int, Field(examples=[18342])]
    """Of the JSON document."""
    href: Annotated[
        str, Field(examples=["/v1/workflows/0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f/steps/fetch_research"])
    ]


class TokensView(View):
    """Tokens that a model read and wrote."""

    read: Annotated[int, Field(examples=[2815])]
    written: Annotated[int, Field(examples=[412])]


class StepView(View):
    name: Annotated[str, Field(examples=["model:outline"])]
    """`fetch_research`, `write_article`, `store`, `announce`, or a step of the brand's writer, such as a model's answer.

    The writer's steps are part of `write_article`; only those that have begun are listed.
    """
    state: StepState
    begun_at: datetime | None
    finished_at: datetime | None
    tokens: TokensView | None
    result: ResultView | None

    @classmethod
    def of(cls, step: WorkflowStep, content_id: UUID) -> Self:
        done = step.finished
        return cls(
            name=step.name,
            state=step.state,
            begun_at=done and done.begun_at,
            finished_at=done and done.finished_at,
            tokens=_tokens([done] if done else []),
            result=None
            if done is None or done.bytes is None
            else ResultView(
                bytes=done.bytes, href=f"/v1/workflows/{content_id}/steps/{quote(step.name, safe='')}"
            ),
        )


class WorkflowNoteView(View):
    """The state of an article's writing."""

    content_id: UUID
    cycle_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    state: WorkflowState
    """`stuck`: under way, without progress for STUCK_AFTER_MINUTES and without a noted wait."""
    revision: int | None
    """The number of the version in work, if a draft was returned."""
    waits: str | None
    """The reason of its wait, if it waits."""
    waits_until: datetime | None
    """When its wait ends, if known."""
    problem: str | None
    """The last problem, even if a retry is under way; or why there is no article."""
    attempt: int
    """Attempts of the current command as its queue counts them, without waits and crashes; 0 before the first."""
    starts: int
    """Starts of the current command, including those after waits and crashes."""
    first_begun_at: datetime | None
    begun_at: datetime | None
    """The latest start."""
    in_hand: bool
    """Whether a writer works on it, or was killed less than WRITING_TIMEOUT_SECONDS ago."""
    last_sign_at: datetime
    """The latest of: start, release, end of a step, end of a wait."""
    retries: int
    retried_at: datetime | None
    retried_by: str | None
    cancelled_at: datetime | None
    cancelled_by: str | None


class WorkflowView(WorkflowNoteView):
    tokens: TokensView | None
    """The sum over all stored steps; unusable answers are not included."""
    steps: tuple[StepView, ...]
    """In order of execution."""

    @classmethod
    def of_workflow(cls, workflow: ArticleWorkflow, finished: Sequence[FinishedStep]) -> Self:
        return cls(
            **WorkflowNoteView.from_row(workflow).model_dump(),
            tokens=_tokens(finished),
            steps=tuple(
                StepView.of(step, workflow.content_id) for step in order_steps(finished, workflow.state)
            ),
        )


class WorkflowRetry(RequestBody):
    anew: bool = False
    """True: the brand's writer starts over, and a model is asked, and paid, again. False: it continues after the last stored result."""


class ControlledView(View):
    changed: bool
    """False if it was under way, or cancelled, already."""
    workflow: WorkflowNoteView
    """The present state."""


class WorkflowList(View):
    items: tuple[WorkflowNoteView, ...]
    next: UUID | None
    """`after` of the next page; null on the last one."""


def _tokens(finished: Sequence[FinishedStep]) -> TokensView | None:
    counted = [each for each in finished if each.prompt_tokens is not None]
    if not counted:
        return None
    return TokensView(
        read=sum(each.prompt_tokens or 0 for each in counted),
        written=sum(each.completion_tokens or 0 for each in counted),
    )
