"""What the API gives of workflows: what is known of each step, and where its result can be read; never the result itself."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from urllib.parse import quote
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.requests import RequestBody
from orchestrator.workflows.domain import FinishedStep, StepState, WorkflowState, WorkflowStep, in_order
from orchestrator.workflows.store import ArticleWorkflow


class ResultView(View):
    """Where the result of a step is."""

    bytes: Annotated[int, Field(examples=[18342])]
    """Of the JSON document."""
    href: Annotated[
        str, Field(examples=["/v1/workflows/0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f/steps/fetch_research"])
    ]


class TokensView(View):
    """What a model counted."""

    read: Annotated[int, Field(examples=[2815])]
    written: Annotated[int, Field(examples=[412])]


class StepView(View):
    name: Annotated[str, Field(examples=["model:outline"])]
    """`fetch_research`, `write_article`, `store`, `announce`; between them the steps of the brand's writer, such as a model's answers,
    which are part of `write_article`: which of them are to come is for the writer to know."""
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
    """How the writing of an article goes."""

    content_id: UUID
    cycle_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    keyword: str
    state: WorkflowState
    """`stuck`: under way, with no sign of it for STUCK_AFTER_MINUTES and no wait noted."""
    revision: int | None
    """The version that is being written, if a draft was sent back."""
    waits: str | None
    """For what, if it waits."""
    waits_until: datetime | None
    """When it is looked at again, as far as known."""
    problem: str | None
    """What went wrong last, also if it is tried again; or why there is no article."""
    attempt: int
    """Of the command that is carried out, as its queue counts: waits and what was killed are left out. 0: it was not begun."""
    starts: int
    """How often that command was begun, those left out included."""
    first_begun_at: datetime | None
    begun_at: datetime | None
    """The latest time."""
    in_hand: bool
    """Whether a writer has it in hand, or had until it was killed less than WRITING_TIMEOUT_SECONDS ago."""
    last_sign_at: datetime
    """Begun, put down, a step finished, the end of a wait: whatever was the latest."""
    retries: int
    retried_at: datetime | None
    retried_by: str | None
    cancelled_at: datetime | None
    cancelled_by: str | None


class WorkflowView(WorkflowNoteView):
    tokens: TokensView | None
    """Of all steps that are kept; answers that came to nothing are not among them."""
    steps: tuple[StepView, ...]
    """In their order."""

    @classmethod
    def of_workflow(cls, workflow: ArticleWorkflow, finished: Sequence[FinishedStep]) -> Self:
        return cls(
            **note_of(workflow).model_dump(),
            tokens=_tokens(finished),
            steps=tuple(
                StepView.of(step, workflow.content_id) for step in in_order(finished, workflow.state)
            ),
        )


class WorkflowRetry(RequestBody):
    anew: bool = False
    """Whether the brand's writer begins anew: a model is asked, and paid, again. Otherwise it goes on behind the last result that is stored."""


class ControlledView(View):
    changed: bool
    """False: it was under way, or cancelled, already."""
    workflow: WorkflowNoteView
    """As it is now."""


class WorkflowList(View):
    items: tuple[WorkflowNoteView, ...]
    next: UUID | None
    """`after` of the next page; null if this is the last one."""


def note_of(workflow: ArticleWorkflow) -> WorkflowNoteView:
    return WorkflowNoteView.model_validate(workflow, from_attributes=True)


def _tokens(finished: Sequence[FinishedStep]) -> TokensView | None:
    counted = [each for each in finished if each.prompt_tokens is not None]
    if not counted:
        return None
    return TokensView(
        read=sum(each.prompt_tokens or 0 for each in counted),
        written=sum(each.completion_tokens or 0 for each in counted),
    )
