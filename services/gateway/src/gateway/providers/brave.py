"""Brave Search, https://api-dashboard.search.brave.com/documentation: `GET /res/v1/web/search`.

Each answered request costs the plan's price, for any number of results; refused ones are free.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from chassis import WebAddress
from chassis.http.client import retry_after
from gateway.credentials import ProviderAccount
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem
from gateway.providers import http_client
from gateway.providers.http_client import AccountSettings, Dollars, ProviderHttpClient, ProviderResponse
from gateway.providers.results import Freshness, SearchOutcome, SearchQuery, SearchResult, result

_FRESHNESS: Final = {
    Freshness.DAY: "pd",
    Freshness.WEEK: "pw",
    Freshness.MONTH: "pm",
    Freshness.YEAR: "py",
}
_LANGUAGES: Final = {"ja": "jp", "zh": "zh-hans", "zh-CN": "zh-hans", "zh-TW": "zh-hant", "pt": "pt-pt"}
"""Our language codes → Brave's, where they differ."""
_KNOWN: Final = frozenset(
    [
        "ar",
        "eu",
        "bn",
        "bg",
        "ca",
        "zh-hans",
        "zh-hant",
        "hr",
        "cs",
        "da",
        "nl",
        "en",
        "en-gb",
        "et",
        "fi",
        "fr",
        "gl",
        "de",
        "el",
        "gu",
        "he",
        "hi",
        "hu",
        "is",
        "it",
        "jp",
        "kn",
        "ko",
        "lv",
        "lt",
        "ms",
        "ml",
        "mr",
        "nb",
        "pl",
        "pt-br",
        "pt-pt",
        "pa",
        "ro",
        "ru",
        "sr",
        "sk",
        "sl",
        "es",
        "sv",
        "ta",
        "te",
        "th",
        "tr",
        "uk",
        "vi",
    ]
)
"""The values of `search_lang`; others are errors."""
_SECOND: Final = timedelta(seconds=1)
_LONGEST_SHORT_WAIT: Final = timedelta(minutes=5)


class BraveSettings(AccountSettings):
    url: WebAddress = "https://api.search.brave.com"
    price: Dollars = Decimal("0.005")
    """Price of one search."""


class BraveSearch:
    """Searches with Brave; raises its errors as `FailedCall`."""

    def __init__(self, http: ProviderHttpClient) -> None:
        self._http = http

    async def search(
        self, account: ProviderAccount, settings: BraveSettings, query: SearchQuery
    ) -> SearchOutcome:
        """Raises FailedCall."""
        key = "" if account.key is None else account.key.get_secret_value()
        response = await self._http.send(
            account.name,
            "GET",
            f"{settings.url}/res/v1/web/search",
            seconds=settings.seconds,
            headers={"X-Subscription-Token": key},
            parameters=_parameters(query),
        )
        if response.status != 200:  # noqa: PLR2004
            raise FailedCall(problem(account.name, response))
        found = _results(response.document)
        if found is None:
            raise FailedCall(http_client.unusable(account.name, "it has no `web.results`"), spent=None)
        return SearchOutcome(found, wait(response.headers))


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


def _results(document: Any) -> list[SearchResult] | None:
    """Returns None if the document has no list of results; an empty list is valid."""
    web = document.get("web") if isinstance(document, dict) else None
    listed = web.get("results") if isinstance(web, dict) else None
    if not isinstance(listed, list):
        return None
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
    return [each for each in found if each is not None]


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
            after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            return http_client.failure(name, response, after or wait(response.headers))


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
