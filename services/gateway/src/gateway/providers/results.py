"""A search and what it finds, in one shape for every provider."""

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


class Query(BaseModel):
    """What is looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """At most 400 characters and 50 words."""
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 10
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] | None = None
    """As in `en` or `pt-BR`."""
    freshness: Freshness | None = None
    """No older than this."""

    @field_validator("text")
    @classmethod
    def checked_text(cls, text: str) -> str:
        """In one line, as every provider takes it; raises ValueError."""
        text = " ".join(text.split())
        if not text:
            raise ValueError("is blank; fill it in")
        if len(text) > MAX_CHARACTERS or len(text.split()) > MAX_WORDS:
            raise ValueError(f"has more than {MAX_CHARACTERS} characters or {MAX_WORDS} words; shorten it")
        if not text.isprintable():
            raise ValueError("has characters that cannot be printed; leave them out")
        return text


class Result(BaseModel):
    """A page that was found. All of it but the address was written by strangers."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    title: str
    url: str
    description: str
    date: date | None
    """When the page was written or changed, as the provider has it."""
    language: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to, and how long the provider wants to be left alone."""

    results: list[Result]
    pause: timedelta | None


def result(
    url: Any, title: Any, description: Any, *, dated: Any = None, language: Any = None
) -> Result | None:
    """What a provider tells of one page; None if it has no address that can be read."""
    if not isinstance(url, str) or not _is_readable(url):
        return None
    return Result(
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
    """Without marks and entities, in one line."""
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
