"""Settings of provider accounts, as operators give them, and the defaults of each kind."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from chassis import WebAddress
from gateway.limits import RateLimits
from gateway.money import TokenPrice, micros
from integrations.model_providers import MODEL_PROVIDERS
from integrations.search_engines import SEARCH_ENGINES

Dollars = Annotated[Decimal, Field(ge=0, le=1000)]


class AccountSettings(BaseModel):
    """An operator's settings of an account, without its key. Prices are in dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: WebAddress
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Requests a minute, evenly spread."""
    together: Annotated[int, Field(ge=1, le=1000)] = 1
    """The size of a burst of requests."""
    brand_per_minute: Annotated[int | None, Field(ge=1, le=100_000)] = None
    """The share of one brand; unset: no limit of its own."""
    at_once: Annotated[int, Field(ge=1, le=1000)] = 8
    """Concurrent requests, over all replicas."""
    seconds: Annotated[float, Field(ge=1, le=600)] = 20.0
    """Time limit of one answer."""

    @property
    def bounds(self) -> RateLimits:
        return RateLimits(self.per_minute, self.brand_per_minute, self.together, self.at_once, self.seconds)


class SearchSettings(AccountSettings):
    price: Dollars
    """Price of one search."""


class ModelSettings(AccountSettings):
    """`url` ends before `/chat/completions`: `https://api.openai.com/v1`."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The provider's name for the model."""
    read_price: Dollars = Decimal(0)
    """For a million tokens that it reads."""
    written_price: Dollars = Decimal(0)
    """For a million tokens that it writes."""
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 4096
    """Default and maximum of tokens to write in one request."""
    max_tokens_field: Annotated[str, StringConstraints(pattern="^max_(completion_)?tokens$")] = "max_tokens"
    """The provider's name for that limit; OpenAI's reasoning models accept only `max_completion_tokens`."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 300
    together: Annotated[int, Field(ge=1, le=1000)] = 8
    seconds: Annotated[float, Field(ge=1, le=600)] = 120.0

    @property
    def price(self) -> TokenPrice:
        return TokenPrice(micros(self.read_price), micros(self.written_price))


def search_settings(kind: str, given: Mapping[str, Any]) -> SearchSettings:
    """The settings of an account of this search engine: those given, and its own address and price.

    Raises:
        pydantic.ValidationError: a setting is missing, unknown or out of range.
    """
    engine = SEARCH_ENGINES[kind]
    defaults = {"price": engine.price} | ({} if engine.url is None else {"url": engine.url})
    return SearchSettings.model_validate({**defaults, **given})


KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], AccountSettings]]] = {
    **{name: partial(search_settings, name) for name in SEARCH_ENGINES},
    **dict.fromkeys(MODEL_PROVIDERS, ModelSettings.model_validate),
}
"""Checks the settings of an account and fills in the rest, by kind of provider; raises pydantic.ValidationError."""
