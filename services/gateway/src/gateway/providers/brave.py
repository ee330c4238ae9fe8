"""Brave Search, https://api-dashboard.search.brave.com/documentation: `GET /res/v1/web/search`.

A request costs what the plan says, however many results it has; what is refused costs nothing.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from chassis import WebAddress
from chassis.http.client import retry_after
from gateway.credentials import Account
from gateway.outcomes import Failed
from gateway.problems import Problem
from gateway.providers import asking
from gateway.providers.asking import AccountSettings, Dollars, Http, Response
from gateway.providers.results import Found, Freshness, Query, Result, result

_FRESHNESS: Final = {
    Freshness.DAY: "pd",
    Freshness.WEEK: "pw",
    Freshness.MONTH: "pm",
    Freshness.YEAR: "py",
}
_LANGUAGES: Final = {"ja": "jp", "zh": "zh-hans", "zh-CN": "zh-hans", "zh-TW": "zh-hant", "pt": "pt-pt"}
"""Those that it calls otherwise."""
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
"""What `search_lang` takes; anything else is an error to it."""
_SECOND: Final = timedelta(seconds=1)
_LONGEST_SHORT_WAIT: Final = timedelta(minutes=5)


class BraveSettings(AccountSettings):
    url: WebAddress = "https://api.search.brave.com"
    price: Dollars = Decimal("0.005")
    """Of one search."""


class Brave:
    """Asks for pages; `Failed` tells its errors in our words."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def search(self, account: Account, settings: BraveSettings, query: Query) -> Found:
        """Raises Failed."""
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
            raise Failed(problem(account.name, response))
        found = _results(response.document)
        if found is None:
            raise Failed(asking.unusable(account.name, "it has no `web.results`"), spent=None)
        return Found(found, wait(response.headers))


def _parameters(query: Query) -> dict[str, str]:
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


def _results(document: Any) -> list[Result] | None:
    """None: there is no list of results, which is no list without results."""
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


def problem(name: str, response: Response) -> Problem:
    """What it says of a request that it did not answer.

    A key that it does not know is a 422 to it, and 429 means two things: too many in a second, which passes, and the plan
    used up, which does not before the next month.
    """
    code, detail = _told(response.document)
    match code:
        case "SUBSCRIPTION_TOKEN_INVALID" | "SUBSCRIPTION_NOT_FOUND":
            return asking.key_refused(name, detail or code)
        case "QUOTA_LIMITED":
            return asking.quota_exhausted(name, detail or code)
        case "RATE_LIMITED":
            pause = wait(response.headers) or _SECOND
            if pause > _LONGEST_SHORT_WAIT:
                return asking.quota_exhausted(name, detail or code)
            return asking.limited(name, pause, detail)
        case _:
            after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            return asking.failure(name, response, after or wait(response.headers))


def _told(document: Any) -> tuple[str, str]:
    """(code, detail). `error` is an object; some examples show a list `errors`."""
    if not isinstance(document, dict):
        return "", ""
    listed = document.get("errors")
    error = document.get("error") or (listed[0] if isinstance(listed, list) and listed else None)
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("code") or ""), asking.quoted(error.get("detail"))


def wait(headers: Mapping[str, str]) -> timedelta | None:
    """How long nothing more may be asked; None if something may.

    The headers are pairs for the second and the month: `X-RateLimit-Remaining: 0, 1000`, `X-RateLimit-Reset: 1, 1419704`
    in seconds.
    """
    limits = _numbers(headers.get("X-RateLimit-Limit", ""))
    remaining = _numbers(headers.get("X-RateLimit-Remaining", ""))
    resets = _numbers(headers.get("X-RateLimit-Reset", ""))
    # A plan without a limit on months says 0 of 0.
    bounded = [limit > 0 for limit in limits] or [True] * len(remaining)
    windows = zip(bounded, remaining, resets, strict=False)
    waits = [reset for is_bounded, left, reset in windows if is_bounded and left <= 0]
    return timedelta(seconds=max(waits)) if waits else None


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 10]  # noqa: PLR2004
