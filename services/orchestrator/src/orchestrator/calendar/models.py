"""What the API gives of a brand's calendar."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import Field

from chassis.http.api import View
from orchestrator.calendar.reading import ArticleCalendarEntry


class ArticleCalendarEntryView(View):
    """Something that is to happen at a time."""

    at: datetime
    """As the clocks of the time zone show it that was asked for."""
    kind: Literal["article", "schedule"]
    """An article that is published then, or a schedule that fires."""
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    title: str
    """Of the article; or what the schedule does."""
    content_id: UUID | None
    """The article; none of a schedule."""
    version: int | None
    """Which version of the article was approved."""
    schedule: Annotated[str | None, Field(examples=["weekly-basics"])]
    """The schedule's name; none of an article."""

    @classmethod
    def of(cls, entry: ArticleCalendarEntry, zone: ZoneInfo) -> Self:
        return cls(
            at=entry.at.astimezone(zone),
            kind=entry.kind,
            brand_slug=entry.brand_slug,
            title=entry.title,
            content_id=entry.content_id,
            version=entry.version,
            schedule=entry.schedule,
        )


class CalendarPage(View):
    items: tuple[ArticleCalendarEntryView, ...]
    """The earliest first."""
    next: str | None
    """The `after` of the page behind this one; null on the last."""
