"""Searches the web: it chooses the provider, charges the search once, and reuses fresh answers."""

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from gateway.calls import CallAnswer, CallRequest, ProviderCaller, fingerprint
from gateway.credentials import ProviderAccount
from gateway.money import micros
from gateway.outcomes import AnsweredCall
from gateway.problems import CallProblem, CallProblemError
from gateway.providers import search_settings
from gateway.providers.search_engines import SEARCH_ENGINE_CLIENTS
from gateway.providers.search_results import SearchOutcome, SearchQuery
from integrations.search_engines import SEARCH_ENGINES


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

    def __init__(self, caller: ProviderCaller, *, fresh: timedelta) -> None:
        self._caller = caller
        self._fresh = fresh

    async def search(self, wanted: SearchCall) -> tuple[str, CallAnswer]:
        """Returns the account's name, and its results as JSON.

        Raises:
            CallProblemError: there are no results; `problem` says why.
        """
        account = await self._account(wanted.provider)
        settings = search_settings(account.kind, account.settings)
        request = CallRequest(
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
            kind="search",
        )

        def paid(found: SearchOutcome) -> AnsweredCall:
            return AnsweredCall(
                [each.model_dump(mode="json") for each in found.results],
                micros(settings.price),
                {"results": len(found.results)},
            )

        client = SEARCH_ENGINE_CLIENTS[account.kind]
        return account.name, await self._caller.call(request, account, settings, client, wanted.query, paid)

    async def _account(self, name: str | None) -> ProviderAccount:
        if name is not None:
            account = await self._caller.accounts.find(name)
            if account.kind not in SEARCH_ENGINE_CLIENTS:
                raise CallProblemError(_searches_nothing(name))
            return account
        return await self._caller.accounts.first_of(tuple(SEARCH_ENGINES))


def _searches_nothing(name: str) -> CallProblem:
    return CallProblem(
        "provider.not_connected",
        f"{name} is not a search provider; `brandctl providers list` shows the connected ones",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
