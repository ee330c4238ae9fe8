"""API views and requests of subjects."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from chassis.http.api import View
from envelope.brand.texts import not_blank
from orchestrator.requests import RequestBody

MAX_KEYWORD: Final = 200
Keyword = Annotated[
    str, AfterValidator(not_blank), Field(min_length=1, max_length=MAX_KEYWORD, examples=["blues guitar"])
]


class SubjectDecisionRequest(RequestBody):
    """A decision that joins two subjects, or splits a keyword off."""

    kind: Literal["join", "split"]
    """`join`: makes the subjects of `keyword` and `other` one, and removes a split between them. `split`: gives this spelling of
    `keyword` its own subject, or removes a join of it.
    """
    keyword: Keyword
    other: Keyword | None = None
    """Required for a join; not allowed for a split."""

    @model_validator(mode="after")
    def _other_of_a_join(self) -> Self:
        if self.kind == "join" and self.other is None:
            raise ValueError("a join needs `other`: name a keyword of the subject to join")
        if self.kind == "split" and self.other is not None:
            raise ValueError("a split has no `other`; leave it out")
        return self


class SubjectDecisionView(View):
    kind: Literal["join", "split"]
    keyword: Annotated[str, Field(examples=["blues guitar"])]
    other: str | None
    decided_by: Annotated[str, Field(examples=["newsroom"])]
    """The name of the API key that decided it."""
    decided_at: datetime


class SubjectDecisionList(View):
    """Decisions in force, the latest first. The audit log has the removed ones."""

    items: tuple[SubjectDecisionView, ...]
    next: datetime | None
    """Send it as `after` to get the next page; null on the last one."""


class SubjectDecisionResult(View):
    kind: Literal["join", "split"]
    keyword: Annotated[str, Field(examples=["blues guitar"])]
    other: str | None
    changed: bool
    """False if it was decided already."""


class SubjectView(View):
    key: Annotated[str, Field(examples=["2:bluesguitar"])]
    """The common key of its keywords. It changes with the rules."""
    keywords: tuple[str, ...]
    """The keywords with an article, and the one in work."""
    articles: int
    in_hand: bool
    """Whether a keyword of it is being researched, written, published or promoted."""


class SubjectList(View):
    """A page of subjects, by key."""

    items: tuple[SubjectView, ...]
    next: str | None
    """Send it as `after` to get the next page; null on the last one."""
