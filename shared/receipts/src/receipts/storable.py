"""Converts outside answers for storage: JSON that PostgreSQL accepts, and text without secrets."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from chassis import redaction

_MAX_DETAIL: Final = 1_000


def as_json_object(remote: Any) -> dict[str, Any]:
    """A JSON object of any answer, so that no answer is lost because of its form."""
    plain = _plain(remote)
    return plain if isinstance(plain, dict) else {"answer": plain}


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case str():
            return _storable(value)
        case Mapping():
            return {_storable(str(key)): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return _storable(str(value))


def describe_error(error: BaseException) -> str:
    detail = getattr(error, "detail", None)
    return clean_text(detail if isinstance(detail, str) else f"{type(error).__name__}: {error}")


def clean_text(text: str) -> str:
    """Redacts secrets and shortens the text."""
    return _storable(redaction.text(text[: 8 * _MAX_DETAIL])[:_MAX_DETAIL])


def _storable(text: str) -> str:
    """Removes characters that PostgreSQL rejects."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
