"""API bodies and views of cycles. Each refusal says what to do."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, model_validator

from chassis.http.api import View
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from envelope import MICROS
from envelope.brand.payloads import Priority
from envelope.brand.texts import shown, visible
from orchestrator.brands import ApprovalPolicy
from orchestrator.cycles.domain import distinct_among, fold_duplicates
from orchestrator.cycles.facts import Bucket, CycleState, KeywordState, percent
from orchestrator.cycles.keyword_rows import PAGE, KeywordRow
from orchestrator.cycles.store import Cycle, RequestedLimits
from orchestrator.placements import PlacementView, failures
from orchestrator.requests import RequestBody

MAX_KEYWORDS: Final = 10_000
MAX_KEYWORD_LENGTH: Final = 200
_LONGEST_DEADLINE: Final = timedelta(days=366)
NOT_ITS_TURN: Final = "waits for its turn: a brand has limits of keywords under way, and begun in a day"


def checked_keyword(text: str) -> str:
    """The keyword on one line; raises ValueError, which says what to do, if no article is possible."""
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
    # Counted before each keyword is checked: for a list that is far too long, the count is the better answer.
    if isinstance(keywords, list | tuple):
        if not keywords:
            raise ValueError("is empty; give at least one keyword")
        if len(keywords) > MAX_KEYWORDS:
            raise ValueError(f"has {len(keywords):,} entries, the limit is {MAX_KEYWORDS:,}; split the list")
    return keywords


Keyword = Annotated[
    str,
    AfterValidator(checked_keyword),
    # For the document only: the check itself counts after folding white space, and says what to do.
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_KEYWORD_LENGTH}),
]


class RequestLimits(RequestBody):
    """What the work on a request may take. Left out: as its brand says; null: no limit, whatever its brand says."""

    deadline: Annotated[AwareDatetime | None, Field(examples=["2026-12-03T14:00:00+01:00"])] = None
    """When the work ends: a keyword whose article is not written by then is refused. Within a year."""
    deadline_hours: Annotated[int | None, Field(ge=1, le=8760, examples=[48])] = None
    """The same in hours from now on; give one of both."""
    max_cost: Annotated[float | None, Field(ge=0.01, le=1_000_000, examples=[5.0])] = None
    """US dollars that the paid calls for all its keywords may cost together; the call that could pass it is not made."""

    @model_validator(mode="after")
    def _one_deadline(self) -> Self:
        if self.deadline is not None and self.deadline_hours is not None:
            raise ValueError("deadline and deadline_hours are both given; give one of them")
        return self

    def limits(self, given: "RequestLimits") -> RequestedLimits:
        """The limits of the request; those `given` beside the body hold where it names none.

        Raises:
            RefusalError: the deadline has passed, or is too far away.
        """
        named = self.model_dump(include=set(RequestLimits.model_fields), exclude_unset=True)
        said = given.model_dump(exclude_none=True) | named
        deadline, hours, cost = said.get("deadline"), said.get("deadline_hours"), said.get("max_cost")
        if deadline is not None and hours is not None:
            raise RefusalError(
                INVALID_REQUEST, "deadline and deadline_hours are both given; give one of them"
            )
        if deadline is not None:
            _check_deadline(deadline)
        return RequestedLimits(
            deadline=deadline,
            deadline_hours=hours,
            max_cost=None if cost is None else round(cost * MICROS),
            brand_deadline=not said.keys() & {"deadline", "deadline_hours"},
            brand_max_cost="max_cost" not in said,
        )


def _check_deadline(deadline: datetime) -> None:
    now = datetime.now(UTC)
    if deadline <= now:
        raise RefusalError(
            INVALID_REQUEST, f"deadline: {deadline.isoformat()} has passed; name a time in the future"
        )
    if deadline - now > _LONGEST_DEADLINE:
        raise RefusalError(
            INVALID_REQUEST, f"deadline: {deadline.isoformat()} is over a year away; name an earlier time"
        )


class PriorityRequest(RequestBody):
    priority: Annotated[Priority, Field(examples=["high"])]


class ResearchRequest(RequestLimits):
    """Keywords to turn into articles. Duplicates that differ only in case and spacing are folded into the first spelling."""

    keywords: Annotated[
        tuple[Keyword, ...],
        Field(
            min_length=1,
            max_length=MAX_KEYWORDS,
            examples=[["pour over ratio", "cold brew", "espresso grind size"]],
        ),
        BeforeValidator(_countable),
    ]
    """1 to 10,000 keywords of at most 200 characters."""
    priority: Annotated[Priority, Field(examples=["normal"])] = Priority.NORMAL
    """Waiting keywords of a brand go in order of priority."""
    priorities: Annotated[tuple[Priority | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword, if they differ; null means `priority`."""
    refresh: bool = False
    """Whether an existing article on a keyword's subject is rewritten from new research, at its address."""
    distinct: bool = False
    """Whether the keywords are subjects of their own: each gets an article even if a similar keyword or article exists.
    The same spelling submitted as distinct again, ignoring case, is the same subject."""
    each_distinct: Annotated[tuple[bool | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword, if they differ; null means `distinct`."""
    approval: Literal[ApprovalPolicy.EVERYTHING] | None = None
    """`everything`: a person approves each article, whatever the brand's setting. Null: as the brand says."""

    @model_validator(mode="after")
    def _one_for_each(self) -> Self:
        if self.priorities and len(self.priorities) != len(self.keywords):
            raise ValueError(
                f"there are {len(self.priorities):,} priorities for {len(self.keywords):,} keywords; give one for each, or none"
            )
        if self.each_distinct and len(self.each_distinct) != len(self.keywords):
            raise ValueError(
                f"there are {len(self.each_distinct):,} values in each_distinct for {len(self.keywords):,} keywords; give one for each, or none"
            )
        return self

    def distinct_ones(self, *, distinct: bool = False) -> frozenset[str]:
        """The keywords of `asked` that are subjects of their own; with `distinct`, also those without a setting."""
        return distinct_among(self.keywords, self.each_distinct, otherwise=distinct or self.distinct)

    def asked(self, priority: Priority | None = None) -> dict[str, Priority]:
        """Each keyword once, in its first spelling, with its own priority or else `priority`."""
        own = self.priorities or (None,) * len(self.keywords)
        return fold_duplicates(
            (keyword, given or priority or self.priority)
            for keyword, given in zip(self.keywords, own, strict=True)
        )


def in_dollars(micros: int | None) -> float | None:
    return None if micros is None else micros / MICROS


class CycleAccepted(View):
    """The batch is accepted; its progress is at the address in the `Location` header."""

    cycle_id: UUID
    correlation_id: Annotated[str, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"])]
    """The id on all messages and log lines of this cycle."""
    total: Annotated[int, Field(ge=1, examples=[3])]
    """Keywords after folding duplicates."""

    @classmethod
    def of(cls, cycle: Cycle) -> Self:
        return cls(cycle_id=cycle.cycle_id, correlation_id=cycle.correlation_id, total=cycle.progress.total)


class PostView(View):
    platform: Annotated[str, Field(examples=["feed"])]
    url: Annotated[str, Field(examples=["http://127.0.0.1:8013/feeds/daily-grind/0197a3c4"])]
    state: Literal["posted", "page_taken_down", "page_deleted"]
    """`posted`, or why the page it links to is gone."""
    posted_at: datetime | None
    """When social reported it; null: unknown, from an older version."""


class KeywordView(View):
    keyword: Annotated[str, Field(examples=["pour over ratio"])]
    state: KeywordState
    """`queued` at research; `refused`: too little material for an honest article, or its request's deadline or cost was reached first; `needs_review`: the article misses a bound, or its
    brand reviews first, at `/v1/drafts/{content_id}`; `rejected` by a person; `failed`: see `reason`; `cancelled` before it was
    written. A `refused` or `failed` keyword continues if its missing result arrives late, e.g. after a replay."""
    reason: str | None
    """Why it was refused, rejected, failed or needs a review; which posts or further targets a completed keyword lacks; the existing
    article with which it ended; or who took its page down, and why."""
    waits: str | None
    """Why its research or writing waits right now: a spent budget, an unreachable search engine or model, or other articles
    first."""
    waits_until: datetime | None
    """When it is tried again, if known."""
    content_id: UUID | None
    """The id of its article, once researched, or of the existing one on its subject; a written article is at
    `/v1/content/{content_id}`."""
    published_url: str | None
    has_standing_article: bool
    """Whether it ended with an existing article on its subject instead of its own."""
    distinct: bool
    """Whether it was submitted as a subject of its own."""
    posts: tuple[PostView, ...]
    placements: tuple[PlacementView, ...]
    """Its article at the further targets of its brand."""

    @classmethod
    def of(cls, row: KeywordRow) -> Self:
        return cls(**fields_of(row))


def fields_of(row: KeywordRow) -> dict[str, Any]:
    """The fields of a `KeywordView`."""
    facts, state, has_standing = row.facts, row.facts.state, row.facts.has_standing_article
    may_wait = state in {KeywordState.QUEUED, KeywordState.WRITING}
    return {
        "keyword": row.keyword,
        "state": state,
        "reason": row.taken_down or _reason(row),
        "waits": _waits(row) if may_wait else None,
        "waits_until": row.waits_until if may_wait and not facts.awaits_turn else None,
        "content_id": facts.standing_id if has_standing else facts.content_id,
        "published_url": row.standing_url if has_standing else facts.published_url,
        "has_standing_article": has_standing,
        "distinct": row.is_distinct,
        "posts": tuple(
            PostView(
                platform=post.platform,
                url=post.url,
                state=_post_state(row),
                posted_at=row.times.posts.get(post.platform),
            )
            for post in facts.posts
            if post.url is not None
        ),
        "placements": tuple(map(PlacementView.from_row, row.placements)),
    }


def _reason(row: KeywordRow) -> str | None:
    missing = failures(row.placements) if row.facts.published_url is not None else None
    return "; ".join(filter(None, (row.facts.reason, missing))) or None


def _post_state(row: KeywordRow) -> Literal["posted", "page_taken_down", "page_deleted"]:
    if row.is_deleted:
        return "page_deleted"
    return "page_taken_down" if row.taken_down else "posted"


def _waits(row: KeywordRow) -> str | None:
    return (row.held_up or NOT_ITS_TURN) if row.facts.awaits_turn else row.waits


class KeywordsView(View):
    """A page of a cycle's keywords, in submission order."""

    items: tuple[KeywordView, ...]
    next: int | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, rows: Sequence[KeywordRow], limit: int) -> Self:
        """`rows` are the page's, and one more if there is a next page."""
        page = rows[:limit]
        return cls(
            items=tuple(KeywordView.of(row) for row in page),
            next=page[-1].position if len(rows) > limit else None,
        )


class CycleHold(View):
    """Why a cycle begins nothing more for now."""

    reason: Annotated[str, Field(examples=["waits for a person: 5 drafts of its brand wait for review"])]
    drafts: Annotated[int | None, Field(examples=[5])]
    """Unreviewed drafts that pause its brand, at `/v1/drafts?brand=…`; null for another reason."""


class CycleSummary(View):
    """Progress of a batch. `total` = `pending` + `processing` + `waiting` + `completed` + `failed`."""

    cycle_id: UUID
    correlation_id: str
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: CycleState
    """`paused`: unsent keywords are held back; `waiting`: all open keywords wait for a person; `completed`: all have ended, at least one
    well; `failed`: all have ended, none well; `cancelled`: all have ended, some by the cancellation. An ended cycle continues if a
    missing result arrives late."""
    pending: Annotated[int, Field(examples=[1])]
    """Keywords waiting for research."""
    processing: Annotated[int, Field(examples=[1])]
    """Keywords being written, published or promoted."""
    waiting: Annotated[int, Field(examples=[0])]
    """Keywords with an article that waits for a person's approval."""
    completed: Annotated[int, Field(examples=[1])]
    failed: Annotated[int, Field(examples=[0])]
    """Keywords that were refused, rejected, failed or cancelled."""
    needs_review: Annotated[int, Field(examples=[0])]
    """The same number as `waiting`, under the state's name."""
    drafts_waiting: Annotated[int, Field(examples=[0])]
    """Waiting keywords with a draft that needs a decision; the others are scheduled or being rewritten."""
    posts_waiting: Annotated[int, Field(examples=[0])]
    """Completed or processing keywords with a post that waits for a person."""
    held_up: CycleHold | None
    """Why no unsent keyword is begun; null if they only wait for their turn, or all were sent."""
    total: Annotated[int, Field(examples=[3])]
    percent: Annotated[int, Field(ge=0, le=100, examples=[33])]
    """Ended keywords in whole per cent, rounded down."""
    states: Annotated[dict[KeywordState, int], Field(examples=[{"queued": 1, "writing": 1, "completed": 1}])]
    """Keywords by state; states without keywords are left out."""
    not_sent: Annotated[int, Field(examples=[0])]
    """Queued or writing keywords that wait for their turn, or for another one on their subject; they can still be
    cancelled."""
    deadline: datetime | None
    """When the work on it ends; null: no deadline."""
    max_cost: Annotated[float | None, Field(examples=[5.0])]
    """US dollars that its paid calls may cost together; null: no such limit. The gateway has what they cost, by `correlation_id`."""
    created_at: datetime
    ended_at: datetime | None
    """When the last keyword ended; null while one is under way or waits for a person."""
    cancelled_at: datetime | None

    @classmethod
    def of_cycle(cls, cycle: Cycle) -> Self:
        return cls(**_summary(cycle))


class CycleView(CycleSummary):
    """Progress of a batch, and its first keywords. `total` = `pending` + `processing` + `waiting` + `completed` + `failed`."""

    keywords: tuple[KeywordView, ...]
    """The first 200, in submission order."""
    next: int | None
    """Send it as `after` to `/v1/cycles/{cycle_id}/keywords` for more; null if there are no more."""

    @classmethod
    def of(cls, cycle: Cycle, rows: Sequence[KeywordRow]) -> Self:
        """`rows` are the page's, and one more if there is a next page."""
        page = KeywordsView.of(rows, PAGE)
        return cls(**_summary(cycle), keywords=page.items, next=page.next)


class CyclesView(View):
    """A page of cycles, latest first."""

    items: tuple[CycleSummary, ...]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, cycles: Sequence[Cycle], limit: int) -> Self:
        """`cycles` are the page's, and one more if there is a next page."""
        page = cycles[:limit]
        return cls(
            items=tuple(CycleSummary.of_cycle(cycle) for cycle in page),
            next=page[-1].cycle_id if len(cycles) > limit else None,
        )


def _summary(cycle: Cycle) -> dict[str, Any]:
    progress = cycle.progress
    return {
        "cycle_id": cycle.cycle_id,
        "correlation_id": cycle.correlation_id,
        "brand_slug": cycle.brand_slug,
        "state": cycle.state,
        "pending": progress.within(Bucket.PENDING),
        "processing": progress.within(Bucket.PROCESSING),
        "waiting": progress.within(Bucket.WAITING),
        "completed": progress.within(Bucket.COMPLETED),
        "failed": progress.within(Bucket.FAILED),
        "needs_review": progress.needs_review,
        "drafts_waiting": cycle.drafts_waiting,
        "posts_waiting": cycle.posts_waiting,
        "held_up": None
        if cycle.held_up is None
        else CycleHold(reason=cycle.held_up, drafts=cycle.held_up_by_drafts),
        "total": progress.total,
        "percent": percent(ended=progress.ended, total=progress.total),
        "states": {state: count for state in KeywordState if (count := progress.of(state))},
        "not_sent": progress.awaiting_research + progress.awaiting_writing + progress.following,
        "deadline": cycle.deadline,
        "max_cost": in_dollars(cycle.max_cost),
        "created_at": cycle.created_at,
        "ended_at": cycle.ended_at,
        "cancelled_at": cycle.cancelled_at,
    }
