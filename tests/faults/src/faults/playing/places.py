"""Channels and kinds of sites that fakes play here, and how to connect their accounts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from fakes import Fake
from fakes.channels.bluesky import FakeBluesky
from fakes.channels.discord import FakeDiscord
from fakes.channels.instagram import FakeInstagram
from fakes.channels.linkedin import FakeLinkedIn
from fakes.channels.mastodon import FakeMastodon
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.threads import FakeThreads
from fakes.channels.webhook import FakeWebhook
from fakes.channels.x import FakeX
from fakes.sites.devto import FakeDevTo
from fakes.sites.ghost import FakeGhost
from fakes.sites.receiver import SECRET, FakeReceiver
from fakes.sites.wordpress import FakeWordPress

KEY: Final = "a-key-for-tests-only"
FILES: Final = "files"
"""A place that needs no account: a git repository."""
_UNLIMITED: Final = {"per_minute": 100_000, "together": 1000, "at_once": 100}


@dataclass(frozen=True)
class EffectPlace:
    """A channel or a kind of site."""

    channel: str
    fake: Callable[[], Fake]
    credentials: Callable[[Any], Mapping[str, str]]
    settings: Callable[[Any], Mapping[str, Any]] = lambda fake: {"api_url": fake.url}
    kind: str = ""
    """Of its account; empty: what it is called."""
    takes_articles: bool = False
    """Or posts."""


def _access(fake: Any) -> dict[str, str]:
    return {"access": fake.token}


PLACES: Final = (
    EffectPlace(
        "mastodon",
        FakeMastodon,
        lambda mastodon: {"token": mastodon.token},
        lambda mastodon: {"url": mastodon.url},
    ),
    EffectPlace(
        "bluesky",
        FakeBluesky,
        lambda bluesky: {"identifier": bluesky.handle, "password": bluesky.password},
        lambda bluesky: {"url": bluesky.url},
    ),
    EffectPlace(
        "webhook",
        FakeWebhook,
        lambda webhook: {"secret": webhook.secret},
        lambda webhook: {"url": f"{webhook.url}/hook"},
    ),
    EffectPlace(
        "x",
        lambda: FakeX(compares=False),
        _access,
        lambda x: {"api_url": x.url, "price": "0", "price_with_link": "0"},
    ),
    EffectPlace(
        "linkedin",
        lambda: FakeLinkedIn(compares=False),
        _access,
        lambda linkedin: {"api_url": linkedin.url, "organization": linkedin.author.rpartition(":")[2]},
    ),
    EffectPlace("instagram", lambda: FakeInstagram(polls=0), _access),
    EffectPlace("threads", lambda: FakeThreads(polls=0), _access),
    EffectPlace(
        "telegram",
        FakeTelegram,
        lambda telegram: {"token": telegram.token},
        lambda telegram: {"api_url": telegram.url, "chat": telegram.chat},
    ),
    EffectPlace(
        "discord",
        FakeDiscord,
        lambda discord: {"url": f"https://discord.com/api/webhooks/{discord.webhook}/{discord.token}"},
    ),
    EffectPlace("slack", FakeSlack, lambda slack: {"url": f"https://hooks.slack.com/services/{slack.path}"}),
    EffectPlace(
        "wordpress",
        FakeWordPress,
        lambda wordpress: {"user": wordpress.user, "password": wordpress.password},
        lambda wordpress: {"url": wordpress.url},
        takes_articles=True,
    ),
    EffectPlace(
        "ghost",
        FakeGhost,
        lambda ghost: {"key": ghost.key},
        lambda ghost: {"url": ghost.url},
        takes_articles=True,
    ),
    EffectPlace("devto", FakeDevTo, lambda devto: {"key": devto.key}, takes_articles=True),
    EffectPlace(
        "receiver",
        lambda: FakeReceiver(SECRET),
        lambda receiver: {"secret": receiver.secret},
        lambda receiver: {"url": f"{receiver.url}/"},
        kind="webhook",
        takes_articles=True,
    ),
)
"""One line for each; a new one is judged with the others. `receiver` is the webhook to which articles go."""


async def connect(
    api: httpx.AsyncClient, place: EffectPlace, fake: Fake, *, name: str | None = None, brand: str = "acme"
) -> None:
    name = name or place.channel
    body = {
        "kind": place.kind or place.channel,
        "brands": [brand],
        "settings": {**_UNLIMITED, **place.settings(fake)},
        "credentials": dict(place.credentials(fake)),
    }
    answer = await api.put(f"/v1/accounts/{name}", json=body)
    assert answer.is_success, f"{name}: {answer.text}"
    checked = await api.post(f"/v1/accounts/{name}/check")
    assert checked.json()["state"] in {"ok", "unchecked"}, f"{name}: {checked.text}"
