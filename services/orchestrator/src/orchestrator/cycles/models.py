"""What the API takes and gives of cycles. Every refusal is a sentence that says what to do."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from chassis.http.api import View
from envelope.brand.payloads import Priority
from orchestrator.cycles.domain import distinct_among, fold_duplicates
from orchestrator.cycles.facts import Bucket, CycleState, KeywordState, percent
from orchestrator.cycles.keyword_rows import PAGE, KeywordRow
from orchestrator.cycles.store import Cycle
from orchestrator.placements import PlacementView, failures
from orchestrator.requests import RequestBody, shown, visible

MAX_KEYWORDS: Final = 10_000
MAX_KEYWORD_LENGTH: Final = 200
NOT_ITS_TURN: Final = "waits for its turn: of one brand only so much is in hand at a time, and begun in a day"


def checked_keyword(text: str) -> str:
    """A keyword on one line; raises ValueError, which says what to do, if nothing can be written on it."""
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
    AfterValidator(checked_keyword),
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
    ]
    """1 to 10,000 keywords of at most 200 characters."""
    priority: Annotated[Priority, Field(examples=["normal"])] = Priority.NORMAL
    """Of a brand's keywords that wait, those of a higher priority go first."""
    priorities: Annotated[tuple[Priority | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword where they differ; null is `priority`."""
    refresh: bool = False
    """Whether an article that stands on a keyword's subject is written anew, at its address, from new research."""
    distinct: bool = False
    """Whether the keywords are subjects of their own: each is written even if another keyword or an article has a subject that it
    folds with. The same spelling handed in as distinct again, whatever its case, is the same subject."""
    each_distinct: Annotated[tuple[bool | None, ...], Field(max_length=MAX_KEYWORDS)] = ()
    """One for each keyword where they differ; null is `distinct`."""

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
        """Those of the keywords of `asked` that are subjects of their own; with `distinct`, those too that do not say."""
        return distinct_among(self.keywords, self.each_distinct, otherwise=distinct or self.distinct)

    def asked(self, priority: Priority | None = None) -> dict[str, Priority]:
        """Each keyword once, as it came first, with its priority; `priority` is that of those that have none of their own."""
        own = self.priorities or (None,) * len(self.keywords)
        return fold_duplicates(
            (keyword, given or priority or self.priority)
            for keyword, given in zip(self.keywords, own, strict=True)
        )


class CycleAccepted(View):
    """The batch is accepted; its progress is at the address in the `Location` header."""

    cycle_id: UUID
    correlation_id: Annotated[str, Field(examples=["0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"])]
    """On every message and log line that this batch causes."""
    total: Annotated[int, Field(ge=1, examples=[3])]
    """Keywords after folding duplicates."""

    @classmethod
    def of(cls, cycle: Cycle) -> Self:
        return cls(cycle_id=cycle.cycle_id, correlation_id=cycle.correlation_id, total=cycle.progress.total)


class PostView(View):
    platform: Annotated[str, Field(examples=["feed"])]
    url: Annotated[str, Field(examples=["http://127.0.0.1:8013/feeds/daily-grind/0197a3c4"])]
    state: Literal["posted", "page_taken_down", "page_deleted"]
    """Whether the page that it leads to can be seen."""
    posted_at: datetime | None
    """When the word of it came; null: it came to a version that did not keep the time."""


class KeywordView(View):
    keyword: Annotated[str, Field(examples=["pour over ratio"])]
    state: KeywordState
    """`queued` at research; `refused`: too little material to write honestly; `needs_review`: an article that is not good
    enough to be published, or that its brand wants to see first, at `/v1/drafts/{content_id}`; `rejected` by a person; `failed`:
    `reason` says why; `cancelled`: with its cycle, before it was written. A `refused` or `failed` keyword moves again if its missing
    outcome arrives after all, e.g. after a replay."""
    reason: str | None
    """Why it was refused or rejected, failed or needs a review, which posts or further targets a completed one lacks, or that the brand has an article
    on its subject, with which it ended; or who took its page down, and why."""
    waits: str | None
    """Why it is not being researched, or its article not written, right now: the budget is spent, a search engine or the model is
    away, others have their turn."""
    waits_until: datetime | None
    """When it is looked at again, as far as known."""
    content_id: UUID | None
    """Once research has succeeded, or of the article that stands on its subject; it is at `/v1/content/{content_id}` when it is
    written."""
    published_url: str | None
    has_standing_article: bool
    """Whether it ended with an article that stood on its subject, or says the same, instead of one of its own."""
    distinct: bool
    """Whether it was handed in as a subject of its own."""
    posts: tuple[PostView, ...]
    placements: tuple[PlacementView, ...]
    """How its article fares at the further targets of its brand."""

    @classmethod
    def of(cls, row: KeywordRow) -> Self:
        facts = row.facts
        may_wait = facts.state in {KeywordState.QUEUED, KeywordState.WRITING}
        return cls(
            keyword=row.keyword,
            state=facts.state,
            reason=row.taken_down or _reason(row),
            waits=_waits(row),
            waits_until=row.waits_until if may_wait and not facts.awaits_turn else None,
            content_id=facts.standing_id if facts.has_standing_article else facts.content_id,
            published_url=row.standing_url if facts.has_standing_article else facts.published_url,
            has_standing_article=facts.has_standing_article,
            distinct=row.is_distinct,
            posts=tuple(
                PostView(
                    platform=post.platform,
                    url=post.url,
                    state=_post_state(row),
                    posted_at=row.times.posts.get(post.platform),
                )
                for post in facts.posts
                if post.url is not None
            ),
            placements=tuple(map(PlacementView.of, row.placements)),
        )


def _reason(row: KeywordRow) -> str | None:
    missing = failures(row.placements) if row.facts.published_url is not None else None
    return "; ".join(filter(None, (row.facts.reason, missing))) or None


def _post_state(row: KeywordRow) -> Literal["posted", "page_taken_down", "page_deleted"]:
    if row.is_deleted:
        return "page_deleted"
    return "page_taken_down" if row.taken_down else "posted"


def _waits(row: KeywordRow) -> str | None:
    if row.facts.state not in {KeywordState.QUEUED, KeywordState.WRITING}:
        return None
    return (row.held_up or NOT_ITS_TURN) if row.facts.awaits_turn else row.waits


class KeywordsView(View):
    """So many keywords of a cycle, in the order they were handed in."""

    items: tuple[KeywordView, ...]
    next: int | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, rows: Sequence[KeywordRow], limit: int) -> Self:
        """`rows` are those of the page, and one more if there are more."""
        page = rows[:limit]
        return cls(
            items=tuple(KeywordView.of(row) for row in page),
            next=page[-1].position if len(rows) > limit else None,
        )


class CycleHold(View):
    """Why nothing more of a cycle is begun for now."""

    reason: Annotated[str, Field(examples=["waits for a person: 5 drafts of its brand wait for review"])]
    drafts: Annotated[int | None, Field(examples=[5])]
    """How many drafts of its brand that nobody has reviewed are the reason, at `/v1/drafts?brand=…`; null if it is another one."""


class CycleSummary(View):
    """Progress of a batch. `total` = `pending` + `processing` + `waiting` + `completed` + `failed`."""

    cycle_id: UUID
    correlation_id: str
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: CycleState
    """`paused`: what has not been sent is held back; `waiting`: what has not ended waits for a person; `completed`: every keyword has
    ended, and at least one as it should; `failed`: every keyword has ended, and none as it should; `cancelled`: every keyword has ended,
    and some because the cycle was cancelled. A cycle that has ended moves again if a missing outcome arrives after all."""
    pending: Annotated[int, Field(examples=[1])]
    """Keywords waiting for research."""
    processing: Annotated[int, Field(examples=[1])]
    """Keywords being written, published or promoted."""
    waiting: Annotated[int, Field(examples=[0])]
    """Keywords whose article is stored and is published only when a person has approved it."""
    completed: Annotated[int, Field(examples=[1])]
    failed: Annotated[int, Field(examples=[0])]
    """Keywords that were refused, rejected, failed or cancelled."""
    needs_review: Annotated[int, Field(examples=[0])]
    """The same number as `waiting`, by the keywords' state."""
    drafts_waiting: Annotated[int, Field(examples=[0])]
    """Of those waiting, keywords whose draft a person has to decide about; the others have their time, or are being written again."""
    posts_waiting: Annotated[int, Field(examples=[0])]
    """Of those completed or processing, keywords of which a post waits for a person."""
    held_up: CycleHold | None
    """Why none of those that were not sent is begun for now; null if they only wait for their turn, or all were sent."""
    total: Annotated[int, Field(examples=[3])]
    percent: Annotated[int, Field(ge=0, le=100, examples=[33])]
    """Keywords that have ended, of all, in whole per cent, rounded down."""
    states: Annotated[dict[KeywordState, int], Field(examples=[{"queued": 1, "writing": 1, "completed": 1}])]
    """How many keywords are in which state; states in which none is are left out."""
    not_sent: Annotated[int, Field(examples=[0])]
    """Of those queued or writing, keywords that wait for their turn, or for another one on their subject; they can still be
    cancelled."""
    created_at: datetime
    ended_at: datetime | None
    """When the last of the keywords ended; null while one is under way or waits for a person."""
    cancelled_at: datetime | None

    @classmethod
    def of_cycle(cls, cycle: Cycle) -> Self:
        return cls(**_summary(cycle))


class CycleView(CycleSummary):
    """Progress of a batch, and its first keywords. `total` = `pending` + `processing` + `waiting` + `completed` + `failed`."""

    keywords: tuple[KeywordView, ...]
    """The first 200, in the order they were handed in."""
    next: int | None
    """Where they go on, if there are more: send it as `after` to `/v1/cycles/{cycle_id}/keywords`."""

    @classmethod
    def of(cls, cycle: Cycle, rows: Sequence[KeywordRow]) -> Self:
        """`rows` are those of the page, and one more if there are more."""
        page = KeywordsView.of(rows, PAGE)
        return cls(**_summary(cycle), keywords=page.items, next=page.next)


class CyclesView(View):
    """So many cycles, the latest first."""

    items: tuple[CycleSummary, ...]
    next: UUID | None
    """Send it as `after` to get the next page; null on the last one."""

    @classmethod
    def of(cls, cycles: Sequence[Cycle], limit: int) -> Self:
        """`cycles` are those of the page, and one more if there are more."""
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
        "created_at": cycle.created_at,
        "ended_at": cycle.ended_at,
        "cancelled_at": cycle.cancelled_at,
    }
