"""A search: at whom, paid once, and answered from what is kept where that is fresh enough."""

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final, Protocol

from chassis import Connection
from gateway.calls import Answer, Asked, Paying, ask, fingerprint
from gateway.credentials import Account, Accounts
from gateway.limits import Gates, Go, Wait
from gateway.money import micros
from gateway.outcomes import Paid
from gateway.problems import Problem, ProblemError
from gateway.providers import BraveSettings, SearxngSettings
from gateway.providers.asking import Http
from gateway.providers.brave import Brave
from gateway.providers.results import Found, Query
from gateway.providers.searxng import Searxng

KINDS: Final = ("brave", "searxng")
"""In the order in which they are asked if the caller does not say whom."""


class _Provider(Protocol):
    async def search(self, account: Account, settings: Any, query: Query) -> Found: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search, and on whose behalf."""

    query: Query
    brand: str
    provider: str | None
    key: str | None


class Searching:
    """Finds pages.

    Args:
        fresh: how old an answer may be that was given to another command of the same brand.
    """

    def __init__(
        self, accounts: Accounts, paying: Paying, gates: Gates, http: Http, *, fresh: timedelta
    ) -> None:
        self._accounts = accounts
        self._paying = paying
        self._gates = gates
        self._fresh = fresh
        self._providers: dict[str, _Provider] = {"brave": Brave(http), "searxng": Searxng(http)}

    async def search(self, wanted: Wanted) -> tuple[str, Answer]:
        """The name of the account that was asked, and its results as JSON.

        Raises:
            ProblemError: why there are none.
        """
        account = await self._account(wanted.provider)
        settings = _settings(account)
        provider = self._providers[account.kind]
        asked = Asked(
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

        async def turn(connection: Connection) -> Go | Wait:
            return await self._gates.turn(connection, account.name, wanted.brand, settings.bounds)

        async def send() -> Paid:
            found = await ask(
                self._accounts,
                self._gates,
                account,
                lambda account: provider.search(account, settings, wanted.query),
            )
            return Paid(
                [each.model_dump(mode="json") for each in found.results],
                micros(settings.price),
                {"results": len(found.results)},
            )

        return account.name, await self._paying.once(asked, send, turn)

    async def _account(self, name: str | None) -> Account:
        if name is not None:
            account = await self._accounts.find(name)
            if account.kind not in KINDS:
                raise ProblemError(_searches_nothing(name))
            return account
        return await self._accounts.first_of(KINDS)


def _settings(account: Account) -> BraveSettings | SearxngSettings:
    kind = BraveSettings if account.kind == "brave" else SearxngSettings
    return kind.model_validate(account.settings)


def _searches_nothing(name: str) -> Problem:
    return Problem(
        "provider.not_connected", f"{name} is no provider of searches", HTTPStatus.UNPROCESSABLE_ENTITY
    )
