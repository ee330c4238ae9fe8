"""Pictures that platforms fetch from our address: while their server is away, posts wait and lose no attempt."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
import pytest

from chassis.testing import eventually
from envelope.brand.payloads import Picture, SocialCreate
from fakes import Fake, serving
from fakes.channels._graph import media_type_by_fetching
from fakes.channels.instagram import FakeInstagram
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.threads import FakeThreads
from fakes.found import CASES
from services.social.tests.sending.conftest import PNG, Networks
from services.social.tests.sending.picture_site import PictureSite
from social.sending import pictures

NewCommand = Callable[..., SocialCreate]
BY_CHANNEL = {case.channel: case for case in CASES if case.credentials is not None}
MOST_ATTEMPTS = 1


def _fetching(fake: Any) -> Any:
    fake.media_type = media_type_by_fetching
    return fake


def _opening(fake: Any) -> Any:
    fake.can_fetch = lambda url: media_type_by_fetching(url) is not None
    return fake


@pytest.fixture
def site(free_port: Callable[[], int]) -> PictureSite:
    return PictureSite(free_port())


@pytest.fixture
def social_settings(social_settings: dict[str, Any], site: PictureSite) -> dict[str, Any]:
    return social_settings | {"pages_url": site.url, "max_attempts": MOST_ATTEMPTS}


@pytest.fixture
def connect(networks: Networks) -> Callable[[str, Fake], Awaitable[None]]:
    async def connected(channel: str, fake: Any) -> None:
        case = BY_CHANNEL[channel]
        assert case.credentials is not None
        body = {
            "kind": channel,
            "brands": ["daily-grind"],
            "settings": {**case.settings, "api_url": fake.url, "per_minute": 60_000, "together": 1000},
            "credentials": case.credentials(fake),
        }
        await networks.put(channel, body)

    return connected


async def _has_waited(database: asyncpg.Connection, times: int) -> bool:
    waits = await database.fetchval("select count(*) from receipt_attempts where event = 'held back'")
    return int(waits) >= times


def _cover(site: PictureSite) -> Picture:
    address = f"{site.url}/sites/daily-grind/pour-over-coffee/cover"
    return Picture(
        url=f"{address}.png",
        alt="A cup, seen from above.",
        media_type="image/png",
        width=1200,
        height=630,
        jpeg_url=f"{address}.jpg",
    )


@pytest.mark.extended
@pytest.mark.parametrize(
    ("channel", "make"),
    [
        ("instagram", lambda: _fetching(FakeInstagram(polls=0))),
        ("threads", lambda: _fetching(FakeThreads(polls=0))),
        ("slack", lambda: _opening(FakeSlack())),
        ("telegram", lambda: _opening(FakeTelegram())),
    ],
)
async def test_a_post_waits_for_the_server_of_its_picture_and_loses_no_attempt(
    social: Any,
    social_database: asyncpg.Connection,
    connect: Callable[[str, Fake], Awaitable[None]],
    new_command: NewCommand,
    site: PictureSite,
    monkeypatch: pytest.MonkeyPatch,
    channel: str,
    make: Callable[[], Any],
) -> None:
    monkeypatch.setattr(pictures, "AGAIN_AFTER", timedelta(seconds=0.05))
    async with serving(make()) as fake:
        await connect(channel, fake)
        if channel == "telegram":  # which shows a picture where no link has a preview
            await social.api.put("/v1/brands/daily-grind/channels/telegram", json={"link": "none"})
        await social.send(new_command(channels=(channel,), language="en", picture=_cover(site)))
        await eventually(partial(_has_waited, social_database, MOST_ATTEMPTS + 1))
        [post] = (await social.api.get("/v1/posts")).json()["items"]
        assert (post["state"], post["reason"], len(fake.accepted)) == ("sending", "publisher", 0)
        assert not [each for each in fake.requests if b"cover" in each.body]
        with site.open():
            [event] = await social.events(1)
            assert (event["type"], event["platform"]) == ("social.posted", channel), event
        [accepted] = fake.accepted
        address, alt = site.url + "/sites/daily-grind/pour-over-coffee/cover", "A cup, seen from above."
        shown = {
            "instagram": f"{address}.jpg",
            "threads": f"{address}.png",
            "slack": alt,
            "telegram": PNG,
        }
        assert accepted.more["pictures"] == [shown[channel]]
