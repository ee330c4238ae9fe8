"""What the API takes and gives of cycles. Every refusal is a sentence that says what to do."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field

from envelope.brand.payloads import Priority
from orchestrator.answers import View
from orchestrator.cycles.domain import fold_duplicates
from orchestrator.cycles.facts import Bucket, KeywordState, bucket, percent
from orchestrator.cycles.store import Cycle, KeywordRow
from orchestrator.requests import RequestBody, shown, visible

MAX_KEYWORDS: Final = 1000
MAX_KEYWORD_LENGTH: Final = 200
NOT_ITS_TURN: Final = "waits for its turn: its brand has as many articles in hand as any may have at a time"


def _keyword(text: str) -> str:
    keyword = visible(text)
    if not keyword:
        raise ValueError("is blank; leave it out or say what to write about")
    if len(keyword) > MAX_KEYWORD_LENGTH:
        raise ValueError(
            f"has {len(keyword):,} characters, the limit is {MAX_KEYWORD_LENGTH}: {shown(keyword)}; shorten it"
        )
    if not any(char.isalnum() for char in keyword):
        raise ValueError(f"has no letter or digit: {shown(keyword)}; leave it out or say what to write about")
    return keyword


def _countable(keywords: Any) -> Any:
    # Counted before each one is looked at: the count is the better answer to a list that is far too long.
    if isinstance(keywords, list | tuple):
        if not keywords:
            raise ValueError("is empty; give at least one keyword")
        if len(keywords) > MAX_KEYWORDS:
            raise ValueError(f"has {len(keywords):,} entries, the limit is {MAX_KEYWORDS:,}; split the list")
    return keywords


Keyword = Annotated[
    str,
    AfterValidator(_keyword),
    # For the document only: the check itself counts after folding white space, and says what to do.
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_KEYWORD_LENGTH}),
]


class ResearchRequest(RequestBody):
    """Keywords to turn into articles. Duplicates (but for case and spacing) are folded, the first spelling stays."""

    keywords: Annotated[
        tuple[Keyword, ...],
        Field(
            min_length=1,
            max_length=MAX_KEYWORDS,
            examples=[["pour over ratio", "cold brew", "espresso grind size"]],
        ),
        BeforeValidator(_countable),
        AfterValidator(fold_duplicates),
    ]
    """1 to 1,000 keywords of at most 200 characters."""
    priority: Annotated[Priority, Field(examples=["normal"])] = Priority.NORMAL
    """Passed on to research."""


class CycleAccepted(View):
    """The batch is accepted; its progress is at the address in the `Location` header."""

    cycle_id: UUID
    correlation_id: Annotated[str, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"])]
    """On every message and log line that this batch causes."""
    total: Annotated[int, Field(ge=1, examples=[3])]
    """Keywords after folding duplicates."""

    @classmethod
    def of(cls, cycle: Cycle) -> Self:
        return cls(cycle_id=cycle.cycle_id, correlation_id=cycle.correlation_id, total=cycle.total)


class CycleState(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    """Every keyword has ended, and at least one as it should; `failed` counts the others."""
    FAILED = "failed"
    """Every keyword has ended, and none as it should. It moves again if one of them does."""

    @classmethod
    def of(cls, *, completed: int, failed: int, total: int) -> Self:
        if completed + failed < total:
            return cls.RUNNING
        return cls.COMPLETED if completed else cls.FAILED


class PostView(View):
    platform: Annotated[str, Field(examples=["feed"])]
    url: Annotated[str, Field(examples=["http://127.0.0.1:8013/feeds/daily-grind/0197a3c4"])]


class KeywordView(View):
    keyword: Annotated[str, Field(examples=["pour over ratio"])]
    state: KeywordState
    """`queued` at research; `refused`: too little material to write honestly; `needs_review`: an article that is not good
    enough to be published, or that its brand wants to see first, at `/v1/drafts/{content_id}`; `rejected` by a person; `failed`: `reason` says why. A `refused` or
    `failed` keyword moves again if its missing outcome arrives after all, e.g. after a replay."""
    reason: str | None
    """Why it was refused or rejected, failed or needs a review, or which posts a completed one lacks."""
    waits: str | None
    """Why it is not being researched, or its article not written, right now: the budget is spent, a search engine or the model is
    away, others have their turn."""
    waits_until: datetime | None
    """When it is looked at again, as far as known."""
    content_id: UUID | None
    """Once research has succeeded; the article is at `/v1/content/{content_id}` when it is written."""
    published_url: str | None
    posts: tuple[PostView, ...]

    @classmethod
    def of(cls, row: KeywordRow) -> Self:
        facts = row.facts
        may_wait = facts.state in {KeywordState.QUEUED, KeywordState.WRITING}
        return cls(
            keyword=row.keyword,
            state=facts.state,
            reason=facts.reason,
            waits=(NOT_ITS_TURN if facts.awaits_turn else row.waits) if may_wait else None,
            waits_until=row.waits_until if may_wait else None,
            content_id=facts.content_id,
            published_url=facts.published_url,
            posts=tuple(
                PostView(platform=post.platform, url=post.url) for post in facts.posts if post.url is not None
            ),
        )


class CycleView(View):
    """Progress of a batch. `total` = `pending` + `processing` + `completed` + `failed`."""

    cycle_id: UUID
    correlation_id: str
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: CycleState
    pending: Annotated[int, Field(examples=[1])]
    """Keywords waiting for research."""
    processing: Annotated[int, Field(examples=[1])]
    """Keywords being written, published or promoted."""
    completed: Annotated[int, Field(examples=[1])]
    failed: Annotated[int, Field(examples=[0])]
    """Keywords that were refused, rejected or failed, or need a review."""
    needs_review: Annotated[int, Field(examples=[0])]
    """Of those in `failed`, keywords whose article is stored and waits for a person."""
    total: Annotated[int, Field(examples=[3])]
    percent: Annotated[int, Field(ge=0, le=100, examples=[33])]
    """Keywords that have ended, of all, in whole per cent, rounded down."""
    created_at: datetime
    keywords: tuple[KeywordView, ...]

    @classmethod
    def of(cls, cycle: Cycle, rows: Sequence[KeywordRow]) -> Self:
        counts = dict.fromkeys(Bucket, 0)
        for row in rows:
            counts[bucket(row.facts.state)] += 1
        ended = counts[Bucket.COMPLETED] + counts[Bucket.FAILED]
        return cls(
            cycle_id=cycle.cycle_id,
            correlation_id=cycle.correlation_id,
            brand_slug=cycle.brand_slug,
            state=CycleState.of(
                completed=counts[Bucket.COMPLETED], failed=counts[Bucket.FAILED], total=len(rows)
            ),
            pending=counts[Bucket.PENDING],
            processing=counts[Bucket.PROCESSING],
            completed=counts[Bucket.COMPLETED],
            failed=counts[Bucket.FAILED],
            needs_review=sum(row.facts.state is KeywordState.NEEDS_REVIEW for row in rows),
            total=len(rows),
            percent=percent(ended=ended, total=len(rows)),
            created_at=cycle.created_at,
            keywords=tuple(KeywordView.of(row) for row in rows),
        )
