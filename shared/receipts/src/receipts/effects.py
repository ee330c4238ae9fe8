"""What an adapter says: what is to happen on somebody else's server, in which steps, and how to find out whether it has."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from receipts.accounts import AccountClient

SETTLES_SECONDS: Final = 150.0
"""Servers go on with a request after whoever asked has gone. Proxies before them wait a minute, some of them two."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What is to happen outside, once."""

    receipt_id: UUID
    """Made of what makes two of them the same, such as `uuid5` of post and channel."""
    kind: str
    """The adapter: `mastodon`, `wordpress`."""
    account: str
    """Name of the gateway's account."""
    brand_slug: str
    subject: str
    """For people: post on mastodon about “Pour-over coffee”."""
    prepared: Mapping[str, Any] = field(default_factory=dict)
    """Texts, ids, keys and times, as JSON. Those of the first attempt stand in all later ones, unless it was refused
    before anything had happened."""
    may_be_there: bool = False
    """Whether it may have happened under a receipt that the database has lost. Counts only where there is no receipt."""


@dataclass(frozen=True, slots=True)
class EffectFound:
    """It is there; what the answer would have told is in `remote`."""

    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EffectAbsent:
    """It is certainly not there. For look-ups alone that show everything which arrived `settles_seconds` ago."""

    is_certain: bool = True
    """False: it cannot be seen, and sending it again leaves one all the same. A refusal of that is then in doubt."""


@dataclass(frozen=True, slots=True)
class EffectUnclear:
    """A person has to look."""

    detail: str


@dataclass(frozen=True, slots=True)
class StepInHand:
    """What a step has in hand."""

    effect: Effect
    account: AccountClient
    """Fenced: what comes too late through it is refused."""
    remote: Mapping[str, Any]
    """All that the steps before have returned."""

    @property
    def prepared(self) -> Mapping[str, Any]:
        return self.effect.prepared


@dataclass(frozen=True, slots=True)
class Step:
    """One request that has an effect, and how to find out afterwards whether it had."""

    name: str
    send: Callable[[StepInHand], Awaitable[Mapping[str, Any]]]
    """Returns what is to be remembered of the answer, as JSON: `id`, `url`. Raises `NotSent`, `Refused` or `UnknownOutcome`;
    whatever else it raises counts as unknown."""
    detect: Callable[[StepInHand], Awaitable[EffectFound | EffectAbsent | EffectUnclear]] | None = None
    """Looks whether what was sent is there, and changes nothing. None: nobody but a person can tell."""
    repeatable: bool = False
    """Sending it twice leaves one: an idempotency key, PUT by a chosen id, an upload that nobody sees. Never in doubt."""
    unseen: bool = False
    """Nobody sees what it leaves, such as an upload: refused after a lost answer, it is refused and not in doubt."""
    settles_seconds: float = SETTLES_SECONDS
    """What was sent may show up this late. A look-up that does not find it earlier is made again then."""
    first_look_seconds: float = 10.0
    """So soon it is looked up first."""
    seconds: float = 15.0
    """How long sending, or looking, may take. Below the grace period of a shutdown, nothing is left unknown by one."""


@dataclass(frozen=True, slots=True)
class EffectPerformed:
    """It has happened, once."""

    remote: Mapping[str, Any]
    """What the steps have returned, all together."""


@dataclass(frozen=True, slots=True)
class EffectInDoubt:
    """It may have happened; nothing is sent until a person has decided."""

    detail: str
