"""API bodies and views of API keys."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from chassis.http.api import View, in_utc
from chassis.http.callers import SERVICE, Caller, Scope
from envelope.brand.payloads import BrandSlug
from orchestrator.api.keys.domain import MOST, usual_limit
from orchestrator.api.keys.store import KeyRow
from orchestrator.requests import RequestBody

NAME_PATTERN: Final = "^[a-z0-9]+([._-][a-z0-9]+)*$"
MAX_NAME: Final = 63
MAX_BRANDS: Final = 100
LONGEST_GRACE: Final = timedelta(days=30)


PerMinute = Annotated[int, Field(ge=1, le=MOST, examples=[600])]


def _distinct(slugs: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if slugs is None else tuple(dict.fromkeys(slugs))


class KeyRequest(RequestBody):
    name: Annotated[str, Field(pattern=NAME_PATTERN, max_length=MAX_NAME, examples=["newsroom"])]
    """The owner's name, recorded with every change made with the key. Two keys that are not revoked never share a name."""
    scopes: Annotated[
        tuple[Scope, ...], Field(min_length=1, max_length=len(Scope), examples=[["read", "submit"]])
    ]
    """What the key allows; no scope includes another."""
    brands: Annotated[
        tuple[BrandSlug, ...] | None,
        Field(min_length=1, max_length=MAX_BRANDS, examples=[["daily-grind"]]),
        AfterValidator(_distinct),
    ] = None
    """Slugs of the only brands that the key sees. Left out: all brands."""
    expires_at: Annotated[
        Annotated[AwareDatetime, AfterValidator(in_utc)] | None, Field(examples=["2030-01-01T00:00:00Z"])
    ] = None
    """When the key expires. Left out: never."""
    per_minute: PerMinute | None = None
    """Requests per minute; left out: the highest limit of its scopes."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.name == SERVICE.name:
            raise ValueError(f"the name '{SERVICE.name}' is that of the service key; choose another")
        if self.brands is not None and Scope.ADMIN in self.scopes:
            raise ValueError(
                "a key with the scope 'admin' cannot be bound to brands, because who has it can make one that is not; leave"
                " out one of the two"
            )
        return self


class KeyLimitRequest(RequestBody):
    per_minute: PerMinute | None
    """Requests per minute; null: the highest limit of its scopes."""


class KeyRotationRequest(RequestBody):
    grace_seconds: Annotated[int, Field(ge=0, le=LONGEST_GRACE.total_seconds(), examples=[86400])] = 86_400
    """Seconds for which the current secret stays valid beside the new one."""


class KeyView(View):
    key_id: Annotated[str, Field(examples=["4fX0w8QbVn2L"])]
    """The part of the key between `be_` and the second `_`."""
    name: str
    scopes: tuple[Scope, ...]
    brands: tuple[str, ...] | None
    """Null: all brands."""
    created_at: datetime
    created_by: str
    rotated_at: datetime | None
    former_until: datetime | None
    """Until when the former secret is valid, too."""
    expires_at: datetime | None
    is_expired: bool
    revoked_at: datetime | None
    revoked_by: str | None
    last_used_at: datetime | None
    """Rounded to the minute; null if never used."""
    per_minute: int
    """The key's limit of requests per minute."""

    @classmethod
    def of(cls, key: KeyRow) -> Self:
        told = {name: getattr(key, name) for name in KeyView.model_fields}
        return cls(**told | {"per_minute": key.per_minute or usual_limit(key.scopes)})


class Introspection(View):
    """The caller that owns a key, in the form of RFC 7662 (token introspection); for an invalid key only the reason."""

    active: bool
    detail: str | None = None
    """Why the key is invalid."""
    name: str | None = None
    scopes: tuple[Scope, ...] = ()
    brands: tuple[str, ...] | None = None
    """Null: all brands."""
    per_minute: int | None = None

    @classmethod
    def of(cls, caller: Caller) -> Self:
        return cls(
            active=True,
            name=caller.name,
            scopes=tuple(sorted(caller.scopes)),
            brands=None if caller.brands is None else tuple(sorted(caller.brands)),
            per_minute=caller.per_minute,
        )


class OwnKeyView(View):
    """What the caller may do."""

    name: str
    scopes: tuple[Scope, ...]
    brands: tuple[str, ...] | None
    """Null: all brands."""
    per_minute: int | None
    """Requests that the key may make in a minute; null: no limit."""

    @classmethod
    def of(cls, caller: Caller) -> Self:
        return cls(
            name=caller.name,
            scopes=tuple(sorted(caller.scopes)),
            brands=None if caller.brands is None else tuple(sorted(caller.brands)),
            per_minute=caller.per_minute,
        )


class NewKeyView(View):
    key: Annotated[str, Field(examples=["be_4fX0w8QbVn2L_…"])]
    """Send it as `Authorization: Bearer …`. The API shows it here and never again."""
    about: KeyView


class KeyList(View):
    items: tuple[KeyView, ...]
    next: str | None
    """Where the next page begins: send it as `after`."""
