"""Searches and their results, in one form for every provider."""

import html
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

MAX_CHARACTERS: Final = 400
MAX_WORDS: Final = 50
MAX_COUNT: Final = 20

_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


class Freshness(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class SearchQuery(BaseModel):
    """A search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """At most 400 characters and 50 words."""
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 10
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] | None = None
    """Such as `en` or `pt-BR`."""
    freshness: Freshness | None = None
    """Maximum age of the results."""

    @field_validator("text")
    @classmethod
    def checked_text(cls, text: str) -> str:
        """Joins the text into one line and checks it; raises ValueError."""
        text = " ".join(text.split())
        if not text:
            raise ValueError("is blank; fill it in")
        if len(text) > MAX_CHARACTERS or len(text.split()) > MAX_WORDS:
            raise ValueError(f"has more than {MAX_CHARACTERS} characters or {MAX_WORDS} words; shorten it")
        if not text.isprintable():
            raise ValueError("has characters that cannot be printed; leave them out")
        return text


class SearchResult(BaseModel):
    """A page that a search found. Title and description are untrusted text."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    title: str
    url: str
    description: str
    date: date | None
    """When the page was written or changed, according to the provider."""
    language: str | None


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The results, and how long the provider wants no requests."""

    results: list[SearchResult]
    pause: timedelta | None


def result(
    url: Any, title: Any, description: Any, *, dated: Any = None, language: Any = None
) -> SearchResult | None:
    """Builds a result; None if its address is unreadable."""
    if not isinstance(url, str) or not _is_readable(url):
        return None
    return SearchResult(
        title=_plain(title),
        url=url,
        description=_plain(description),
        date=_date(dated),
        language=language if isinstance(language, str) and language else None,
    )


def _is_readable(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _plain(text: Any) -> str:
    """Removes tags and entities, and joins the text into one line."""
    if not isinstance(text, str):
        return ""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _date(text: Any) -> date | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None
