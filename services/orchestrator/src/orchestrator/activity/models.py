"""What the API gives of how brands fare."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from chassis.http.api import View


class AuditSeen(View):
    """The brand's newest audit."""

    audit_id: UUID
    made_at: datetime
    counts: dict[str, int]
    """How many findings of each kind."""


class Recently(View):
    """Of keywords whose last step was taken since the time that was asked for; what is cleaned up with old cycles is not counted."""

    published: int
    """Articles that can be seen at an address."""
    posts: int
    """Posts about them, on any channel."""
    refused: int
    """Keywords on which there is no article, for a reason that is no failure."""
    failed: int


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    name: Annotated[str, Field(examples=["The Daily Grind"])]
    drafts_waiting: int
    """Drafts that a person has to decide about."""
    posts_waiting: int
    """Articles of which a post waits for a person."""
    waiting_since: datetime | None
    """Since when the oldest of them does."""
    held_up: bool
    """Whether so many drafts wait unseen that nothing more is begun for the brand."""
    audit: AuditSeen | None
    recently: Recently | None
    """Only where `since` is given."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug."""
    next: str | None
    """`after` of the next page; none if this is the last."""
