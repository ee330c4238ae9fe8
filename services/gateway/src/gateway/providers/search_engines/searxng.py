"""SearXNG, https://docs.searxng.org/dev/search_api.html: `GET /search?format=json` of the operator's own instance. It is free."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.client import ProviderClient, ProviderRequest
from gateway.providers.http_client import ProviderResponse
from gateway.providers.search_results import SearchOutcome, SearchQuery, SearchResult, result

_ENGINES_PAUSE: Final = timedelta(minutes=3)
"""The instance retries its blocked engines after some minutes."""


def request(account: ProviderAccount, query: SearchQuery) -> ProviderRequest:
    return ProviderRequest("/search", parameters=_parameters(query), headers=account.authorization)


def answer(name: str, response: ProviderResponse, query: SearchQuery) -> SearchOutcome:
    document = response.document
    listed = document.get("results") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise FailedCall(http_client.unusable(name, "it has no `results`"))
    found = [each for each in map(_result, listed) if each is not None][: query.count]
    if not found and (silent := _unresponsive(document)):
        # No engine answered, so an empty list means nothing.
        raise FailedCall(http_client.limited(name, _ENGINES_PAUSE, f"its engines do not answer: {silent}"))
    return SearchOutcome(found, None)


def _parameters(query: SearchQuery) -> dict[str, str]:
    parameters = {"q": query.text, "format": "json"}
    if query.language is not None:
        parameters["language"] = query.language
    if query.freshness is not None:
        parameters["time_range"] = query.freshness.value
    return parameters


def _result(each: Any) -> SearchResult | None:
    if not isinstance(each, dict):
        return None
    return result(each.get("url"), each.get("title"), each.get("content"), dated=each.get("publishedDate"))


def _unresponsive(document: dict[str, Any]) -> str:
    """Lists the silent engines; `unresponsive_engines` has pairs of name and reason."""
    listed = document.get("unresponsive_engines")
    if not isinstance(listed, list):
        return ""
    return ", ".join(" ".join(map(str, each)) if isinstance(each, list) else str(each) for each in listed)[
        :300
    ]


def problem(name: str, response: ProviderResponse) -> CallProblem:
    """Translates an error response. SearXNG answers 403 if JSON is not enabled."""
    if response.status == HTTPStatus.FORBIDDEN:
        return http_client.refused(
            name, response.status, "add `json` to `search: formats:` of its settings.yml"
        )
    return http_client.failure(name, response)


CLIENT: Final = ProviderClient(request, answer, problem)
