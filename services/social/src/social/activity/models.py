"""Answers of the HTTP API about post activity."""

from typing import Annotated

from pydantic import Field

from chassis.http.api import View


class ChannelActivity(View):
    """Activity of one account of a brand, or of its built-in feed."""

    channel: Annotated[str, Field(examples=["mastodon"])]
    """Kind of the channel; the name from the command while the account is unknown."""
    account: Annotated[str | None, Field(examples=["mastodon-eu"])]
    """The account at the gateway; null for the built-in feed and while unknown."""
    posted: int
    """Posts that went out since `since`."""
    failed: int
    """Posts due since then that failed."""
    waiting: int
    """Posts that wait for review now."""
    planned: int
    """Posts that have a time, or are being sent, now."""
    in_doubt: int
    """Posts in doubt now, which a person has to check (`/v1/receipts`)."""


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    channels: tuple[ChannelActivity, ...]
    """By name; channels without activity are left out."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug; brands without any post are left out."""
    next: str | None
    """`after` of the next page; null on the last."""
