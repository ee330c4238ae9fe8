"""Connected accounts, their states and the fences of their requests. No input or output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

ALL_BRANDS: Final = "*"
WARNED: Final = timedelta(days=14)
"""An account counts as expiring this long before its access ends."""
OPERATORS: Final = "operators"
"""Stands for the brand where a request names none."""


class AccountState(StrEnum):
    """Whether an account can be used."""

    OK = "ok"
    EXPIRING = "expiring"
    NEEDS_RECONNECTING = "needs_reconnecting"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """A connected account without its credentials.

    `generation` counts changes of the credentials; it detects two concurrent renewals.
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
    state: AccountState
    detail: str | None
    connected_at: datetime
    checked_at: datetime | None

    def may_be_used_by(self, brand: str | None) -> bool:
        """`None` stands for an operator, who may use accounts of all brands."""
        return ALL_BRANDS in self.brands or (brand is not None and brand in self.brands)

    def state_at(self, now: datetime) -> AccountState:
        """The state at the moment `now`: access may have expired since the last check."""
        if self.state is AccountState.NEEDS_RECONNECTING or self.expires_at is None:
            return self.state
        if self.expires_at <= now:
            return AccountState.NEEDS_RECONNECTING
        return AccountState.EXPIRING if self.expires_at - now <= WARNED else self.state


@dataclass(frozen=True, slots=True)
class AccountCheck:
    """The provider's description of an account."""

    label: str | None
    facts: Mapping[str, str] = field(default_factory=dict)
    scopes: Sequence[str] | None = None
    """None: the provider does not say."""
    expires_at: datetime | None = None
    """None: access does not expire, or the end is unknown."""

    @classmethod
    def of_handle(cls, handle: str, facts: Mapping[str, str]) -> Self:
        """An account that is shown as `@handle`; without a handle it has no label."""
        return cls(f"@{handle}" if handle else None, facts)


@dataclass(frozen=True, slots=True)
class ReceiptStep:
    """The receipt, and its step, that a request belongs to."""

    receipt_id: UUID
    step: str
    fence: int
    sends: bool
    """False: the request only reads."""


@dataclass(frozen=True, slots=True)
class FenceState:
    """The state of a receipt's fence, under its row lock."""

    fence: int | None
    """The highest fence so far."""
    sending_until: datetime | None
    """Requests with a lower fence may still write until then; None: there are none."""


class FenceReason(StrEnum):
    """Why a fence refuses a request."""

    REPLACED = "replaced"
    """A later fence exists: another process has taken over."""
    UNDER_WAY = "under_way"
    """A request with a lower fence may still arrive."""


def fence_reason(fence: int, seen: FenceState, now: datetime) -> FenceReason | None:
    """Returns why a request with this fence must not go now; None if it may."""
    if seen.fence is not None and fence < seen.fence:
        return FenceReason.REPLACED
    if seen.sending_until is not None and seen.sending_until > now:
        return FenceReason.UNDER_WAY
    return None
