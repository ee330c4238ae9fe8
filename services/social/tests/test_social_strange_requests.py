"""No request of a visitor causes a failure, not even at the routes that every service has."""

from collections.abc import Callable
from typing import Any

import pytest

from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from envelope.brand.payloads import SocialCreate

PATHS = (
    "/",
    "/assets/{name}",
    "/feeds/{brand}",
    "/feeds/{brand}/",
    "/feeds/{brand}/feed.xml",
    "/feeds/{brand}/{post_id}",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/v1/{x}",
)


@pytest.mark.extended
async def test_nothing_that_is_asked_makes_the_feeds_fail(
    social: Any, new_command: Callable[..., SocialCreate]
) -> None:
    posts = [(await social.post(new_command())).rpartition("/")[2] for _ in range(7)]
    known = {
        "brand": ["daily-grind"],
        "post_id": posts,
        "before": posts,
        "name": ["feed.css"],
        "If-None-Match": ["*"],
    }
    answered = await ask_strangely(FuzzTarget(social.url, PATHS, known), count=300)
    assert {200, 308, 404, 405} <= set(answered)
