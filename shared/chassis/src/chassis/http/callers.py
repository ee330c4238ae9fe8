"""The caller of a request with its scopes and brands; the guard sets it, routes read it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.types import Scope as RequestScope

from chassis.http.problem_codes import UNKNOWN_BRAND, RefusalError

_PLACE: Final = "caller"


class Scope(StrEnum):
    """The right that a route needs. No scope includes another one."""

    READ = "read"
    """Read everything."""
    SUBMIT = "submit"
    """Submit work: keywords, documents, requests that cost money."""
    REVIEW = "review"
    """Review drafts."""
    OPERATE = "operate"
    """Change brands and operations: settings, pauses, replays."""
    REPAIR = "repair"
    """See failed messages in full, with what is hidden elsewhere."""
    ADMIN = "admin"
    """Manage keys, providers and budgets; with a key for all brands also the assignment of things to brands."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The holder of a key.

    For a caller that is bound to brands no other brands exist: check `may_see` for the brand of a path, and pass
    `brands` to SQL that finds or lists things.
    """

    name: str
    """Name for records of who did something."""
    scopes: frozenset[Scope]
    brands: frozenset[str] | None = None
    """Slugs; None: all brands, future ones too."""
    key_id: str = "service"
    """Id of the key; names may be reused by later keys, ids are not."""
    per_minute: int | None = None
    """Maximum of requests per minute; None: no limit."""

    @property
    def is_administrator(self) -> bool:
        """Whether the caller has the scope `admin` and is bound to no brand."""
        return self.brands is None and Scope.ADMIN in self.scopes

    def may_see(self, brand: str) -> bool:
        return self.brands is None or brand in self.brands

    def visible_brands(self, only: str | None = None) -> list[str] | None:
        """Return the slugs to list, `only` this one if it is given; None: all brands."""
        if only is not None:
            return [only] if self.may_see(only) else []
        return None if self.brands is None else sorted(self.brands)

    def check_visible(self, brand: str) -> str:
        """Return the slug; raise RefusalError 404 if the caller may not see the brand, even if it does not exist."""
        if not self.may_see(brand):
            raise RefusalError(UNKNOWN_BRAND, f"there is no brand '{brand}' that your key may see")
        return brand


SERVICE: Final = Caller("service", frozenset(Scope))
"""The caller with the service key."""

Authorise: TypeAlias = Callable[[Request], Awaitable[Caller]]
"""Returns the caller of a request; raises HTTPException 401 without a known key."""


def remember(request: Request, caller: Caller) -> None:
    """Store the caller with the request, for the routes."""
    request.scope[_PLACE] = caller


def is_known(scope: RequestScope) -> bool:
    """Return whether the guard has accepted the request."""
    return _PLACE in scope


def caller_of(request: Request) -> Caller:
    """Return the caller of a request that the guard has accepted."""
    caller = request.scope[_PLACE]
    assert isinstance(caller, Caller)
    return caller
