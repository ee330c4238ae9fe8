"""The adapter's interface: an effect, its steps, and the look-up of each."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from receipts.accounts import AccountClient

SETTLES_SECONDS: Final = 150.0
"""Servers may continue a request after its sender has gone. Proxies wait a minute for them, some two."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect at an outside server."""

    receipt_id: UUID
    """Derived from what identifies the effect, such as `uuid5` of post and channel."""
    kind: str
    """The adapter: `mastodon`, `wordpress`."""
    account: str
    """Name of the gateway's account."""
    brand_slug: str
    subject: str
    """For people: post on mastodon about “Pour-over coffee”."""
    prepared: Mapping[str, Any] = field(default_factory=dict)
    """Texts, ids, keys and times, as JSON. All later attempts use those of the first one, unless that was refused without any effect."""
    may_be_there: bool = False
    """Whether it may have happened under a receipt that the database has lost. Ignored if there is a receipt."""


@dataclass(frozen=True, slots=True)
class EffectFound:
    """The look-up found the effect; `remote` has the members that the answer would have had."""

    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EffectAbsent:
    """The effect certainly did not happen. Only for look-ups that show everything that arrived `settles_seconds` ago."""

    is_certain: bool = True
    """False: the look-up cannot see it, but sending twice leaves only one. A refusal then puts the receipt in doubt."""


@dataclass(frozen=True, slots=True)
class EffectUnclear:
    """The look-up was inconclusive: a person must decide."""

    detail: str


@dataclass(frozen=True, slots=True)
class StepInHand:
    """The arguments of a step: its effect, its account and earlier results."""

    effect: Effect
    account: AccountClient
    """Fenced: the gateway refuses late requests through it."""
    remote: Mapping[str, Any]
    """The merged results of earlier steps."""

    @property
    def prepared(self) -> Mapping[str, Any]:
        return self.effect.prepared


@dataclass(frozen=True, slots=True)
class Step:
    """One request with an effect, and the look-up of that effect."""

    name: str
    send: Callable[[StepInHand], Awaitable[Mapping[str, Any]]]
    """Sends the request. Returns facts of the answer to store, as JSON: `id`, `url`. Raises `NotSent`, `Refused` or `UnknownOutcome`; any
    other exception counts as an unknown outcome."""
    detect: Callable[[StepInHand], Awaitable[EffectFound | EffectAbsent | EffectUnclear]] | None = None
    """Looks the effect up, without changes. None: only a person can tell."""
    repeatable: bool = False
    """Sending twice leaves one: an idempotency key, PUT by a chosen id, an invisible upload. Never in doubt."""
    unseen: bool = False
    """People do not see the result, such as an upload: a refusal after a lost answer is a refusal, not a doubt."""
    settles_seconds: float = SETTLES_SECONDS
    """An effect may appear this late. A look-up that does not find it earlier is repeated then."""
    first_look_seconds: float = 10.0
    """The wait before the first look-up."""
    seconds: float = 15.0
    """Limit for sending or looking up. Below the grace period of a shutdown, no shutdown leaves an unknown outcome."""


@dataclass(frozen=True, slots=True)
class EffectPerformed:
    """The effect has happened, once."""

    remote: Mapping[str, Any]
    """The merged results of all steps."""


@dataclass(frozen=True, slots=True)
class EffectInDoubt:
    """The effect may have happened; a person must decide before anything more is sent."""

    detail: str
