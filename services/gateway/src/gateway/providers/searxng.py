"""SearXNG, https://docs.searxng.org/dev/search_api.html: `GET /search?format=json` of an instance of one's own. It is free."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final

from chassis.http.client import retry_after
from gateway.credentials import Account
from gateway.outcomes import Failed
from gateway.problems import Problem
from gateway.providers import asking
from gateway.providers.asking import AccountSettings, Dollars, Http, Response
from gateway.providers.results import Found, Query, Result, result

_ENGINES_PAUSE: Final = timedelta(minutes=3)
"""Engines that refused the instance are asked again by it after some minutes."""


class SearxngSettings(AccountSettings):
    price: Dollars = Decimal(0)
    """Of one search."""


class Searxng:
    """Asks for pages; `Failed` tells its errors in our words."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def search(self, account: Account, settings: SearxngSettings, query: Query) -> Found:
        """Raises Failed."""
        response = await self._http.send(
            account.name,
            "GET",
            f"{settings.url}/search",
            seconds=settings.seconds,
            headers=account.authorization,
            parameters=_parameters(query),
        )
        if response.status != HTTPStatus.OK:
            raise Failed(problem(account.name, response))
        document = response.document
        listed = document.get("results") if isinstance(document, dict) else None
        if not isinstance(listed, list):
            raise Failed(asking.unusable(account.name, "it has no `results`"))
        found = [each for each in map(_result, listed) if each is not None][: query.count]
        if not found and (silent := _unresponsive(document)):
            # Nothing was found because nobody looked.
            raise Failed(asking.limited(account.name, _ENGINES_PAUSE, f"its engines do not answer: {silent}"))
        return Found(found, None)


def _parameters(query: Query) -> dict[str, str]:
    parameters = {"q": query.text, "format": "json"}
    if query.language is not None:
        parameters["language"] = query.language
    if query.freshness is not None:
        parameters["time_range"] = query.freshness.value
    return parameters


def _result(each: Any) -> Result | None:
    if not isinstance(each, dict):
        return None
    return result(each.get("url"), each.get("title"), each.get("content"), dated=each.get("publishedDate"))


def _unresponsive(document: dict[str, Any]) -> str:
    """`unresponsive_engines` is a list of pairs: name and reason."""
    listed = document.get("unresponsive_engines")
    if not isinstance(listed, list):
        return ""
    return ", ".join(" ".join(map(str, each)) if isinstance(each, list) else str(each) for each in listed)[
        :300
    ]


def problem(name: str, response: Response) -> Problem:
    """What it says of a request that it did not answer. It answers 403 to a format that is not switched on."""
    if response.status == HTTPStatus.FORBIDDEN:
        return asking.refused(name, response.status, "add `json` to `search: formats:` of its settings.yml")
    after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
    return asking.failure(name, response, after)
