"""How tests use a provider: which requests have effects there, and how an account of it is connected at the gateway."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fakes.serving.fake import Fake

ITS_OWN: Final = {"url": "https://its.own.example"}
"""Settings of an account of a kind whose server is anybody's."""


def bearer(fake: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {fake.token}"}


def nothing(_: Any) -> dict[str, str]:
    return {}


def user(fake: Any) -> dict[str, str]:
    return {"id": fake.user_id}


def access(fake: Any) -> dict[str, str]:
    """Credentials of a kind with a log-in."""
    return {"access": fake.token}


@dataclass(frozen=True)
class ChannelCase:
    """One channel, as the conformance suite tests it.

    Args:
        channel: its name.
        fake: creates a fresh fake of the network.
        sends: the requests that change something, in order; `POST /2/tweets 2` is the second of its kind. For a variant, the requests
            that other cases lack.
        doubtful: those of them without a look-up, so that a lost answer leaves a doubt.
        headers: headers that the gateway adds to requests to this fake.
        facts: the gateway's facts about the account.
        settings: of the account at the gateway.
        credentials: of the account at the gateway; None: the real gateway is not used.
        path: the account's path at the fake, which the gateway puts before every path.
        placement: of the link: `in_text`, `first_comment` or `none`.
        variant: the difference from other cases of the channel.
    """

    channel: str
    fake: Callable[[], Fake]
    sends: tuple[str, ...]
    doubtful: frozenset[str] = frozenset()
    headers: Callable[[Any], Mapping[str, str]] = bearer
    facts: Callable[[Any], Mapping[str, str]] = nothing
    settings: Mapping[str, Any] = field(default_factory=dict)
    credentials: Callable[[Any], Mapping[str, str]] | None = None
    path: Callable[[Any], str] = field(default=lambda _: "")
    placement: Any = "in_text"
    variant: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.channel, self.variant)))


@dataclass(frozen=True)
class EffectPlace:
    """A channel or a kind of site, as fault tests use it: how an account of the fake is connected at the gateway."""

    channel: str
    fake: Callable[[], Fake]
    credentials: Callable[[Any], Mapping[str, str]]
    settings: Callable[[Any], Mapping[str, Any]] = lambda fake: {"api_url": fake.url}
    kind: str = ""
    """Of its account; empty: what it is called."""
    takes_articles: bool = False
    """Or posts."""

    @property
    def account_kind(self) -> str:
        return self.kind or self.channel
