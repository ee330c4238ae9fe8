"""Brave Search, https://api-dashboard.search.brave.com/documentation: `GET /res/v1/web/search`.

Each answered request costs the plan's price, for any number of results; refused ones are free.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.client import ProviderClient, ProviderRequest
from gateway.providers.http_client import ProviderResponse
from gateway.providers.search_results import Freshness, SearchOutcome, SearchQuery, result

_FRESHNESS: Final = {
    Freshness.DAY: "pd",
    Freshness.WEEK: "pw",
    Freshness.MONTH: "pm",
    Freshness.YEAR: "py",
}
_LANGUAGES: Final = {"ja": "jp", "zh": "zh-hans", "zh-CN": "zh-hans", "zh-TW": "zh-hant", "pt": "pt-pt"}
"""Our language codes → Brave's, where they differ."""
# fmt: off
_KNOWN: Final = frozenset([
    "ar", "eu", "bn", "bg", "ca", "zh-hans", "zh-hant", "hr", "cs", "da", "nl", "en", "en-gb", "et",
    "fi", "fr", "gl", "de", "el", "gu", "he", "hi", "hu", "is", "it", "jp", "kn", "ko", "lv", "lt",
    "ms", "ml", "mr", "nb", "pl", "pt-br", "pt-pt", "pa", "ro", "ru", "sr", "sk", "sl", "es", "sv",
    "ta", "te", "th", "tr", "uk", "vi",
])
# fmt: on
"""The values of `search_lang`; others are errors."""
_SECOND: Final = timedelta(seconds=1)
_LONGEST_SHORT_WAIT: Final = timedelta(minutes=5)


def request(account: ProviderAccount, query: SearchQuery) -> ProviderRequest:
    key = "" if account.key is None else account.key.get_secret_value()
    return ProviderRequest(
        "/res/v1/web/search", parameters=_parameters(query), headers={"X-Subscription-Token": key}
    )


def _parameters(query: SearchQuery) -> dict[str, str]:
    parameters = {"q": query.text, "count": str(query.count), "text_decorations": "false"}
    if query.freshness is not None:
        parameters["freshness"] = _FRESHNESS[query.freshness]
    if query.language is not None:
        tag = query.language
        wanted = _LANGUAGES.get(tag, tag.lower() if tag.lower() in _KNOWN else tag[:2])
        wanted = _LANGUAGES.get(wanted, wanted)
        if wanted in _KNOWN:
            parameters["search_lang"] = wanted
    return parameters


def answer(name: str, response: ProviderResponse, _: SearchQuery) -> SearchOutcome:
    """Reads `web.results`; an empty list is valid."""
    document = response.document
    web = document.get("web") if isinstance(document, dict) else None
    listed = web.get("results") if isinstance(web, dict) else None
    if not isinstance(listed, list):
        raise FailedCall(http_client.unusable(name, "it has no `web.results`"), spent=None)
    found = (
        result(
            each.get("url"),
            each.get("title"),
            each.get("description"),
            dated=each.get("page_age"),
            language=each.get("language"),
        )
        for each in listed
        if isinstance(each, dict)
    )
    return SearchOutcome([each for each in found if each is not None], wait(response.headers))


def problem(name: str, response: ProviderResponse) -> CallProblem:
    """Translates an error response.

    Brave answers 422 to an unknown key. Its 429 means either too many requests in a second, which passes, or a used-up
    plan, which lasts until the next month.
    """
    code, detail = _told(response.document)
    match code:
        case "SUBSCRIPTION_TOKEN_INVALID" | "SUBSCRIPTION_NOT_FOUND":
            return http_client.key_refused(name, detail or code)
        case "QUOTA_LIMITED":
            return http_client.quota_exhausted(name, detail or code)
        case "RATE_LIMITED":
            pause = wait(response.headers) or _SECOND
            if pause > _LONGEST_SHORT_WAIT:
                return http_client.quota_exhausted(name, detail or code)
            return http_client.limited(name, pause, detail)
        case _:
            return http_client.failure(name, response, wait(response.headers))


def _told(document: Any) -> tuple[str, str]:
    """(code, detail). `error` is an object; some examples show a list `errors`."""
    if not isinstance(document, dict):
        return "", ""
    listed = document.get("errors")
    error = document.get("error") or (listed[0] if isinstance(listed, list) and listed else None)
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("code") or ""), http_client.quoted(error.get("detail"))


def wait(headers: Mapping[str, str]) -> timedelta | None:
    """How long Brave wants no requests; None if it has no limit now.

    The headers are pairs for the second and the month: `X-RateLimit-Remaining: 0, 1000`, `X-RateLimit-Reset: 1,
    1419704` in seconds.
    """
    limits = _numbers(headers.get("X-RateLimit-Limit", ""))
    remaining = _numbers(headers.get("X-RateLimit-Remaining", ""))
    resets = _numbers(headers.get("X-RateLimit-Reset", ""))
    # A plan without a monthly limit says 0 of 0.
    bounded = [limit > 0 for limit in limits] or [True] * len(remaining)
    windows = zip(bounded, remaining, resets, strict=False)
    waits = [reset for is_bounded, left, reset in windows if is_bounded and left <= 0]
    return timedelta(seconds=max(waits)) if waits else None


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 10]  # noqa: PLR2004


CLIENT: Final = ProviderClient(request, answer, problem)
