"""How often a key may ask, unless it was said otherwise. No input or output."""

from collections.abc import Iterable
from typing import Final

from chassis.http.callers import Scope

PER_MINUTE: Final = {
    Scope.READ: 600,
    Scope.OPERATE: 300,
    Scope.SUBMIT: 120,
    Scope.REVIEW: 120,
    Scope.ADMIN: 60,
}
"""What a key may ask that was made without a limit of its own: as much as the most generous of its scopes gives."""
MOST: Final = 100_000
"""A minute, that a key may be given."""


def usual_limit(scopes: Iterable[Scope]) -> int:
    return max(PER_MINUTE[scope] for scope in scopes)
