"""What the API gives of how posts fare."""

from typing import Annotated

from pydantic import Field

from chassis.http.api import View


class ChannelActivity(View):
    """Of one account of a brand, or of its built-in feed."""

    channel: Annotated[str, Field(examples=["mastodon"])]
    """Its kind; what the brand calls it while it is not known which account that is."""
    account: Annotated[str | None, Field(examples=["mastodon-eu"])]
    """The account at the gateway; null: the built-in feed, or it is not known yet."""
    posted: int
    """Went out since the time that was asked for."""
    failed: int
    """Were to go out since then, and have failed."""
    waiting: int
    """Wait for a person, now."""
    planned: int
    """Have their time, or are being sent, now."""
    in_doubt: int
    """May be out or not, now: a person has to look (`/v1/receipts`)."""


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    channels: tuple[ChannelActivity, ...]
    """By name; those that there is nothing to tell of are left out."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug; brands without any post are left out."""
    next: str | None
    """`after` of the next page; null on the last."""
