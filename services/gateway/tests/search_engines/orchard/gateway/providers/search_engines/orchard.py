"""Orchard: `POST /find`. The second file of the recipe in CONTRIBUTING.md."""

from datetime import timedelta
from typing import Final

from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.client import ProviderClient, ProviderRequest
from gateway.providers.http_client import ProviderResponse
from gateway.providers.search_results import SearchOutcome, SearchQuery, result


def request(account: ProviderAccount, query: SearchQuery) -> ProviderRequest:
    return ProviderRequest(
        "/find", headers=account.authorization, body={"question": query.text, "most": query.count}
    )


def answer(name: str, response: ProviderResponse, _: SearchQuery) -> SearchOutcome:
    document = response.document
    if not isinstance(document, dict) or not isinstance(document.get("pages"), list):
        raise FailedCall(http_client.unusable(name, "it has no `pages`"))
    found = (result(each["address"], each["name"], each["about"]) for each in document["pages"])
    return SearchOutcome([each for each in found if each is not None], None)


def problem(name: str, response: ProviderResponse) -> CallProblem:
    document = response.document
    match document.get("fault") if isinstance(document, dict) else None:
        case "key":
            return http_client.key_refused(name, "key")
        case "hurry":
            return http_client.limited(name, timedelta(seconds=document["seconds"]))
        case _:
            return http_client.failure(name, response)


CLIENT: Final = ProviderClient(request, answer, problem)
