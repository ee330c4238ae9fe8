"""API views and requests of judges and their exams."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.judge_exams.domain import ExamPlan, ExamState
from orchestrator.judge_exams.store import ExamProgress, ExamRow
from orchestrator.requests import RequestBody


class ExamRequest(RequestBody):
    judge: Annotated[str, Field(min_length=1, max_length=200, examples=["model"])]
    """Its name, as in `GET /v1/judges`."""
    again: bool = False
    """Whether an exam that runs ends in favour of a new one."""


class KeptOfView(View):
    kept: int
    """Sentences that the judge found supported."""
    total: int


class ExamResultView(View):
    """Shares of the sentences that the judge found supported: ideally all true ones and no lie."""

    precision: float
    """The share of true sentences in those that it found supported; 0 if it found none."""
    recall: float
    """The share of the true sentences that it found supported."""
    true: KeptOfView
    lies: KeptOfView
    kinds: dict[str, KeptOfView]
    """The lies by kind."""
    unread: int
    """Sentences without a usable answer; they count as not supported."""

    @classmethod
    def of(cls, result: Any) -> Self:
        """Creates the view of a stored result."""
        true = KeptOfView(**result["true"])
        kinds = {kind: KeptOfView(**each) for kind, each in sorted(result["lies"].items())}
        lies = KeptOfView(
            kept=sum(each.kept for each in kinds.values()), total=sum(each.total for each in kinds.values())
        )
        supported = true.kept + lies.kept
        return cls(
            precision=true.kept / supported if supported else 0.0,
            recall=true.kept / true.total if true.total else 0.0,
            true=true,
            lies=lies,
            kinds=kinds,
            unread=result["unread"],
        )


class ExamView(View):
    exam_id: UUID
    judge: str
    state: ExamState
    """`running`, `passed`, or `failed`: below the bar, or ended by a problem."""
    version: str
    """Of its questions. `estimate` of the judge has the version that an exam would have now."""
    questions: int
    answered: int
    waits_for: Annotated[
        str | None, Field(examples=["the model's budget: 0.01 of the 2.00 dollars are left"])
    ]
    """Why the next question is not asked right now; it goes on by itself."""
    begun_by: str
    begun_at: datetime
    ended_at: datetime | None
    model: str | None
    """What its answers call the model; null until it is graded."""
    result: ExamResultView | None
    problem: str | None
    """Why it ended without a result, and what to do."""
    tokens_read: int
    tokens_written: int
    spent: int | None
    """Micro-dollars; null if no gateway counts them."""

    @classmethod
    def of(cls, exam: ExamRow, progress: ExamProgress) -> Self:
        shared = {name: getattr(exam, name) for name in cls.model_fields if hasattr(exam, name)}
        counted = {name: getattr(progress, name) for name in ExamProgress.__dataclass_fields__}
        return cls(**{**shared, **counted, "result": exam.result and ExamResultView.of(exam.result)})


class ExamEstimateView(View):
    """Size of an exam, and the most that it takes."""

    version: str
    questions: int
    sentences: int
    tokens_read: int
    tokens_written: int
    seconds: int
    """At 50 tokens a second."""


class ExamBarView(View):
    most_lies_kept: float
    """The largest share of lies that a judge that passes may find supported."""
    least_true_kept: float
    """The smallest share of true sentences that it has to find supported."""


class JudgeView(View):
    name: Annotated[str, Field(examples=["model"])]
    """At the gateway."""
    has_passed: bool
    """Whether articles may be published on its word without a person."""
    advice: Annotated[
        str, Field(examples=["articles that rest on it wait for a person until it passes its exam"])
    ]
    exam: ExamView | None
    """The latest; null if there was none."""


class JudgeList(View):
    items: tuple[JudgeView, ...]
    """In the order in which they read. Empty if no model judges."""
    at_gateway: bool
    """Whether they are reached through the gateway, where a provider of their name or model has to be connected."""
    estimate: ExamEstimateView | None
    """Of one exam; null if no model judges."""
    bar: ExamBarView | None

    @classmethod
    def of(cls, judges: tuple[JudgeView, ...], plan: ExamPlan | None, *, at_gateway: bool) -> Self:
        if plan is None:
            return cls(items=(), at_gateway=at_gateway, estimate=None, bar=None)
        return cls(
            items=judges,
            at_gateway=at_gateway,
            estimate=ExamEstimateView(
                **{name: getattr(plan, name) for name in ExamEstimateView.model_fields}
            ),
            bar=ExamBarView(**{name: getattr(plan, name) for name in ExamBarView.model_fields}),
        )
