"""Default rate limits of API keys. Pure: no I/O."""

from collections.abc import Iterable
from typing import Final

from chassis.http.callers import Scope

PER_MINUTE: Final = {
    Scope.READ: 600,
    Scope.OPERATE: 300,
    Scope.SUBMIT: 120,
    Scope.REVIEW: 120,
    Scope.REPAIR: 120,
    Scope.ADMIN: 60,
}
"""Requests per minute of a key without a limit of its own: the highest of its scopes' limits."""
MOST: Final = 100_000
"""The highest limit per minute that a key may have."""


def usual_limit(scopes: Iterable[Scope]) -> int:
    return max(PER_MINUTE[scope] for scope in scopes)
