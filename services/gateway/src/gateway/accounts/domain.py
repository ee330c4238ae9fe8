"""An account with others, what it says of itself, and which requests to it may go. No input or output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

ALL_BRANDS: Final = "*"
WARNED: Final = timedelta(days=14)
"""So long before its access ends, an account counts as expiring."""
OPERATORS: Final = "operators"
"""On whose behalf it is asked where no brand is named."""


class State(StrEnum):
    """How an account stands."""

    OK = "ok"
    EXPIRING = "expiring"
    NEEDS_RECONNECTING = "needs_reconnecting"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Account:
    """A connected account without its credentials.

    `generation` counts the changes of these, so that of two that renew them one sees the other's.
    """

    name: str
    kind: str
    brands: tuple[str, ...]
    settings: Mapping[str, Any]
    generation: int
    label: str | None
    facts: Mapping[str, str]
    scopes: tuple[str, ...]
    expires_at: datetime | None
    state: State
    detail: str | None
    connected_at: datetime
    checked_at: datetime | None

    def may_be_used_by(self, brand: str | None) -> bool:
        """`None`: an operator, who uses what is for all."""
        return ALL_BRANDS in self.brands or (brand is not None and brand in self.brands)

    def state_at(self, now: datetime) -> State:
        """As it is now: what was fine when it was looked at may have come near its end."""
        if self.state is State.NEEDS_RECONNECTING or self.expires_at is None:
            return self.state
        if self.expires_at <= now:
            return State.NEEDS_RECONNECTING
        return State.EXPIRING if self.expires_at - now <= WARNED else self.state


@dataclass(frozen=True, slots=True)
class Looked:
    """What an account's own side says of it."""

    label: str | None
    facts: Mapping[str, str] = field(default_factory=dict)
    scopes: Sequence[str] | None = None
    """None: it does not say."""
    expires_at: datetime | None = None
    """None: it does not end by itself, or nobody knows when."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a request is for, as receipts know it."""

    receipt_id: UUID
    step: str
    fence: int
    sends: bool
    """False: it looks something up."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a receipt, under its row's lock."""

    fence: int | None
    """The highest so far."""
    sending_until: datetime | None
    """Until when a request of a lower fence may still write; None: there is none."""


class Fenced(StrEnum):
    """Why a request does not go."""

    REPLACED = "replaced"
    """A later fence is known: whoever asks has been replaced."""
    UNDER_WAY = "under_way"
    """What was sent under a lower fence may still arrive."""


def decide(fence: int, seen: Seen, now: datetime) -> Fenced | None:
    """Whether a request with this fence may go now: None, or why not."""
    if seen.fence is not None and fence < seen.fence:
        return Fenced.REPLACED
    if seen.sending_until is not None and seen.sending_until > now:
        return Fenced.UNDER_WAY
    return None
