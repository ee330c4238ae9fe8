"""Who sends a request, and what he may do: what the guard finds out, and routes go by."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.types import Scope as RequestScope

_PLACE: Final = "caller"


class Scope(StrEnum):
    """What a route is for. None includes another: who may do all has all."""

    READ = "read"
    """Look at what there is."""
    SUBMIT = "submit"
    """Hand in work: keywords, documents, what costs money to answer."""
    REVIEW = "review"
    """Decide about drafts."""
    OPERATE = "operate"
    """Change brands and what runs: settings, pauses, replays."""
    ADMIN = "admin"
    """Keys, providers and what they may cost; with a key that is bound to no brand, also what belongs to which brand."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever holds a key.

    A caller that is bound to brands is answered as if there were no other: look `may_see` up for the brand of a path, and
    give `brands` to the SQL that finds something by its id or lists it.
    """

    name: str
    """As rows say who did something."""
    scopes: frozenset[Scope]
    brands: frozenset[str] | None = None
    """Slugs; None: all of them, also those to come."""
    key_id: str = "service"
    """Of the key: two keys may have one name, one after the other, and share nothing."""
    per_minute: int | None = None
    """How often he may ask; None: as often as he likes."""

    @property
    def is_administrator(self) -> bool:
        """Whether he decides what belongs to which brand: the scope `admin`, and bound to none."""
        return self.brands is None and Scope.ADMIN in self.scopes

    def may_see(self, brand: str) -> bool:
        return self.brands is None or brand in self.brands


SERVICE: Final = Caller("service", frozenset(Scope))
"""Who has the key that all services share."""

Authorise: TypeAlias = Callable[[Request], Awaitable[Caller]]
"""Who sent the request; raises HTTPException 401 for one without a key that is known."""


def remember(request: Request, caller: Caller) -> None:
    """Notes with the request who sent it, for the routes."""
    request.scope[_PLACE] = caller


def is_known(scope: RequestScope) -> bool:
    """Whether the guard has let the request through."""
    return _PLACE in scope


def caller_of(request: Request) -> Caller:
    """Who sent a request that the guard let through."""
    caller = request.scope[_PLACE]
    assert isinstance(caller, Caller)
    return caller
