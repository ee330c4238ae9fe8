"""Searches the web: it chooses the provider, charges the search once, and reuses fresh answers."""

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final, Protocol

from chassis import Connection
from gateway.calls import CallAnswer, CallRequest, PaidCalls, ask_provider, fingerprint
from gateway.credentials import ProviderAccount, ProviderAccounts
from gateway.limits import Permit, PermitDelay, RateLimiter
from gateway.money import micros
from gateway.outcomes import AnsweredCall
from gateway.problems import CallProblem, CallProblemError
from gateway.providers import BraveSettings, SearxngSettings
from gateway.providers.brave import BraveSearch
from gateway.providers.http_client import ProviderHttpClient
from gateway.providers.results import SearchOutcome, SearchQuery
from gateway.providers.searxng import SearxngSearch

KINDS: Final = ("brave", "searxng")
"""The order of preference if the caller names no provider."""


class _Provider(Protocol):
    async def search(self, account: ProviderAccount, settings: Any, query: SearchQuery) -> SearchOutcome: ...


@dataclass(frozen=True, slots=True)
class SearchCall:
    """A search, with the brand that pays."""

    query: SearchQuery
    brand: str
    provider: str | None
    key: str | None


class WebSearch:
    """Searches with the connected providers.

    Args:
        fresh: maximum age of an answer to another command of the same brand.
    """

    def __init__(
        self,
        accounts: ProviderAccounts,
        paid_calls: PaidCalls,
        limiter: RateLimiter,
        http: ProviderHttpClient,
        *,
        fresh: timedelta,
    ) -> None:
        self._accounts = accounts
        self._paid_calls = paid_calls
        self._limiter = limiter
        self._fresh = fresh
        self._providers: dict[str, _Provider] = {"brave": BraveSearch(http), "searxng": SearxngSearch(http)}

    async def search(self, wanted: SearchCall) -> tuple[str, CallAnswer]:
        """Returns the account's name, and its results as JSON.

        Raises:
            CallProblemError: there are no results; `problem` says why.
        """
        account = await self._account(wanted.provider)
        settings = _settings(account)
        provider = self._providers[account.kind]
        call_request = CallRequest(
            brand=wanted.brand,
            provider=account.name,
            subject="search",
            fingerprint=fingerprint(
                "search", wanted.brand, account.name, settings.url, wanted.query.model_dump(mode="json")
            ),
            maximum=micros(settings.price),
            within=timedelta(seconds=settings.seconds),
            fresh=self._fresh,
            key=wanted.key,
        )

        async def turn(connection: Connection) -> Permit | PermitDelay:
            return await self._limiter.turn(connection, account.name, wanted.brand, settings.bounds)

        async def send() -> AnsweredCall:
            found = await ask_provider(
                self._accounts,
                self._limiter,
                account,
                lambda account: provider.search(account, settings, wanted.query),
            )
            return AnsweredCall(
                [each.model_dump(mode="json") for each in found.results],
                micros(settings.price),
                {"results": len(found.results)},
            )

        return account.name, await self._paid_calls.execute(call_request, send, turn)

    async def _account(self, name: str | None) -> ProviderAccount:
        if name is not None:
            account = await self._accounts.find(name)
            if account.kind not in KINDS:
                raise CallProblemError(_searches_nothing(name))
            return account
        return await self._accounts.first_of(KINDS)


def _settings(account: ProviderAccount) -> BraveSettings | SearxngSettings:
    kind = BraveSettings if account.kind == "brave" else SearxngSettings
    return kind.model_validate(account.settings)


def _searches_nothing(name: str) -> CallProblem:
    return CallProblem(
        "provider.not_connected",
        f"{name} is not a search provider; `brandctl providers list` shows the connected ones",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
