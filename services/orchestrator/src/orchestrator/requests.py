"""What bodies of requests are made of: checks of what people type."""

import re
from typing import Final

from pydantic import BaseModel, ConfigDict

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Unicode's category Cc."""
WITHOUT_NUL: Final = r"^[^\x00]*$"
"""Pattern of text that PostgreSQL can be asked for: it keeps no such character."""


class RequestBody(BaseModel):
    """Takes no field that it does not know: a misspelt one would be lost without a word."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


def visible(text: str) -> str:
    """The text on one line, without control characters."""
    if _CONTROL.search(text):
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
