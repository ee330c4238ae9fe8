"""What bodies of requests are made of: checks of what people type, and how a refusal puts it."""

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict


class RequestBody(BaseModel):
    """Takes no field that it does not know: a misspelt one would be lost without a word."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


def visible(text: str) -> str:
    """The text on one line, without control characters."""
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise ValueError(f"contains a control character: {shown(text)}; remove it")
    return " ".join(text.split())


def not_blank(text: str) -> str:
    line = visible(text)
    if not any(char.isprintable() and not char.isspace() for char in line):
        raise ValueError("is blank; fill it in")
    return line


def prose(text: str) -> str:
    """Line breaks and tabs are part of prose, other control characters are not."""
    visible(text.translate({ord(char): " " for char in "\r\n\t"}))
    return text.strip()


def shown(text: str) -> str:
    """The beginning of a text as ASCII, whatever is in it."""
    return ascii(text[:40] + ("…" if len(text) > 40 else ""))  # noqa: PLR2004  (enough to recognise it by)


def problem_of(error: RequestValidationError) -> str:
    """The first complaint as one sentence, e.g. `keywords[2]: is blank; leave it out …`."""
    first = error.errors()[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"][1:]).lstrip(
        "."
    )
    field = "".join(char if char.isprintable() else "?" for char in place[:120])
    complaint = _complaint(first)
    return f"{field}: {complaint}" if field else complaint


_COMPLAINTS: Final = {
    "missing": "is missing; it is required",
    "extra_forbidden": "is not a field of this request; remove it or correct its spelling",
    "model_attributes_type": "the request body must be a JSON object",
    "string_type": "must be a string",
    "tuple_type": "must be a list",
    "too_long": "has more than {max_length:,} entries, which is the limit; split the list",
    "string_too_long": "has more than {max_length:,} characters; shorten it",
    "string_too_short": "is blank; fill it in or leave it out",
    "string_pattern_mismatch": "does not match {pattern}",
    "enum": "must be {expected}",
    "uuid_parsing": "is not a UUID",
    "value_error": "{error}",
}
"""What is said of pydantic's error types; for others, what pydantic says."""


def _complaint(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return "the request has no body; send a JSON object"
    template = _COMPLAINTS.get(error["type"])
    return template.format(**error.get("ctx", {})) if template else str(error["msg"])
