"""Answers of models, in one form for every provider, and the bound of what a request costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

_PER_MESSAGE: Final = 32
_PER_CALL: Final = 256
"""Tokens that a chat template may add, generously."""


class FinishReason(StrEnum):
    """Why an answer ends."""

    COMPLETE = "complete"
    LENGTH = "length"
    """Cut off at the limit of tokens."""
    CONTENT_FILTER = "content_filter"
    """The provider removed forbidden content."""
    REFUSAL = "refusal"
    """The model declined."""


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer with its cost.

    Args:
        document: the provider's JSON.
        ending: of its first choice.
        read: tokens; None if the provider does not say.
        written: likewise.
        pause: how long the provider wants no requests.
    """

    document: dict[str, Any]
    ending: FinishReason
    read: int | None
    written: int | None
    pause: timedelta | None


def most_tokens_read(messages: list[dict[str, Any]], others: Mapping[str, Any]) -> int:
    """An upper bound of the prompt's tokens: a token stands for at least one byte of UTF-8."""
    texts = sum(len(text.encode()) for text in _texts([messages, dict(others)]))
    return texts + _PER_MESSAGE * len(messages) + _PER_CALL


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for key, item in value.items() for text in (str(key), *_texts(item))]
        case list():
            return [text for item in value for text in _texts(item)]
        case _:
            return [str(value)]
