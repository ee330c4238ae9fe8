"""Makes text from outside fit for PostgreSQL, JSON and logs. Pure."""

import math
from typing import Final

from pydantic import JsonValue

_MAX_NESTING: Final = 20


def clean(text: str) -> str:
    """The text without U+0000 and lone surrogates, which PostgreSQL and UTF-8 cannot store."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def clean_or_none(text: str | None) -> str | None:
    return None if text is None else clean(text)


def clean_json(value: JsonValue, depth: int = 0) -> JsonValue:
    """The value with clean texts. NaN and infinities become text; too deeply nested values become `…`."""
    if depth > _MAX_NESTING:
        return "…"
    match value:
        case str():
            return clean(value)
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {clean(name): clean_json(item, depth + 1) for name, item in value.items()}
        case list():
            return [clean_json(item, depth + 1) for item in value]
        case _:
            return value
