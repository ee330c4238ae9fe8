"""What the API takes and gives of subjects."""

from datetime import datetime
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from chassis.http.api import View
from orchestrator.requests import RequestBody, not_blank
from orchestrator.subjects.deciding import StoredSubject, SubjectDecision

MAX_KEYWORD: Final = 200
Keyword = Annotated[
    str, AfterValidator(not_blank), Field(min_length=1, max_length=MAX_KEYWORD, examples=["blues guitar"])
]


class DecisionRequest(RequestBody):
    """That two subjects are one, or that a keyword has one to itself."""

    kind: Literal["join", "split"]
    """`join`: the subject of `keyword` and that of `other` are one; a split between them is taken back. `split`: `keyword`, spelled so, is a
    subject of its own; a join of it is taken back instead."""
    keyword: Keyword
    other: Keyword | None = None
    """Of a join alone."""

    @model_validator(mode="after")
    def _other_of_a_join(self) -> Self:
        if self.kind == "join" and self.other is None:
            raise ValueError("a join needs `other`: name the keyword whose subject it is")
        if self.kind == "split" and self.other is not None:
            raise ValueError("a split has no `other`; leave it out")
        return self


class DecisionView(View):
    kind: Literal["join", "split"]
    keyword: Annotated[str, Field(examples=["blues guitar"])]
    other: str | None
    decided_by: Annotated[str, Field(examples=["newsroom"])]
    """The name of the key."""
    decided_at: datetime

    @classmethod
    def of(cls, decision: SubjectDecision) -> Self:
        return cls.model_validate(decision, from_attributes=True)


class DecisionsView(View):
    """The latest first. What was taken back is not here, but in the audit log."""

    items: tuple[DecisionView, ...]
    next: datetime | None
    """Send it as `after` to get the next page; null on the last one."""


class DecisionMade(View):
    kind: Literal["join", "split"]
    keyword: Annotated[str, Field(examples=["blues guitar"])]
    other: str | None
    changed: bool
    """False: it was so already."""


class SubjectView(View):
    key: Annotated[str, Field(examples=["2:bluesguitar"])]
    """What the keywords are folded to. It changes when the rules do."""
    keywords: tuple[str, ...]
    """Those that have an article, or have it in hand."""
    articles: int
    in_hand: bool
    """Whether a keyword is being researched, written, published or promoted on it."""

    @classmethod
    def of(cls, subject: StoredSubject) -> Self:
        return cls.model_validate(subject, from_attributes=True)


class SubjectsView(View):
    """By key."""

    items: tuple[SubjectView, ...]
    next: str | None
    """Send it as `after` to get the next page; null on the last one."""
