"""Merges scheduled articles and schedules into a brand's calendar."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice, takewhile
from typing import Final, Literal
from uuid import UUID

from chassis import Connection
from orchestrator.brands import BrandSlug
from orchestrator.review import ScheduledArticle, dated_between
from orchestrator.schedule import Schedule, active_of

_ARTICLE: Final = "article"
_SCHEDULE: Final = "schedule"


@dataclass(frozen=True, slots=True)
class ArticleCalendarEntry:
    """A calendar entry; `models.ArticleCalendarEntryView` describes its fields."""

    at: datetime
    kind: Literal["article", "schedule"]
    brand_slug: BrandSlug
    title: str
    content_id: UUID | None
    version: int | None
    schedule: str | None
    schedule_id: UUID | None
    changed_at: datetime
    moves: int

    @property
    def place(self) -> tuple[datetime, str]:
        """Sort key: time, then articles before schedules."""
        key = f"{_SCHEDULE}:{self.schedule}" if self.content_id is None else f"{_ARTICLE}:{self.content_id}"
        return self.at, key


async def entries_of(
    connection: Connection,
    brand: BrandSlug,
    begin: datetime,
    end: datetime,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int,
) -> list[ArticleCalendarEntry]:
    """Entries from `begin` to before `end`, earliest first; with `after`, only entries behind that sort key."""
    if after is not None:
        begin = max(begin, after[0])
    behind = _article(after[1]) if after is not None and after[0] == begin else None
    articles = await dated_between(connection, brand, begin, end, after=behind, limit=limit + 1)
    schedules = await active_of(connection, brand)
    # Times of a schedule are found one by one, as far as the page goes.
    streams = [
        iter([_of_article(brand, each) for each in articles]),
        *(_firings(each, begin, end) for each in schedules),
    ]
    found = merge(*streams, key=lambda entry: entry.place)
    return list(islice((each for each in found if after is None or each.place > after), limit))


def _of_article(brand: BrandSlug, dated: ScheduledArticle) -> ArticleCalendarEntry:
    return ArticleCalendarEntry(
        at=dated.publish_at,
        kind="article",
        brand_slug=brand,
        title=dated.title,
        content_id=dated.content_id,
        version=dated.version,
        schedule=None,
        schedule_id=None,
        changed_at=dated.made_at,
        moves=dated.moves,
    )


def _firings(schedule: Schedule, begin: datetime, end: datetime) -> Iterator[ArticleCalendarEntry]:
    times = schedule.plan.firings_from(schedule.standing, begin)
    for time in takewhile(lambda time: time < end, times):
        yield ArticleCalendarEntry(
            at=time,
            kind="schedule",
            brand_slug=schedule.brand_slug,
            title=_what(schedule),
            content_id=None,
            version=None,
            schedule=schedule.name,
            schedule_id=schedule.schedule_id,
            changed_at=schedule.updated_at,
            moves=0,
        )


def _what(schedule: Schedule) -> str:
    plan = schedule.plan
    if not plan.keywords:
        return "audit of the brand"
    if plan.take is not None:
        return f"{plan.take} of {len(plan.keywords)} keywords"
    return f"{len(plan.keywords)} keyword{'s' * (len(plan.keywords) > 1)}"


def _article(key: str) -> UUID | None:
    kind, _, told = key.partition(":")
    if kind != _ARTICLE:
        # All articles of that time stand before it.
        return UUID(int=2**128 - 1)
    try:
        return UUID(told)
    except ValueError:
        return None
