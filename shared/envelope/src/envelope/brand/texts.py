"""Checks of the texts that people type into bodies of requests."""

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Control characters, Unicode category Cc."""


def visible(text: str) -> str:
    """The text on one line; raises ValueError if it has a control character."""
    if _CONTROL.search(text):
        raise ValueError(f"contains a control character: {shown(text)}; remove it")
    return " ".join(text.split())


def not_blank(text: str) -> str:
    line = visible(text)
    if not any(char.isprintable() and not char.isspace() for char in line):
        raise ValueError("is blank; fill it in")
    return line


def prose(text: str) -> str:
    """The stripped text; raises ValueError for control characters other than line breaks and tabs."""
    visible(text.translate({ord(char): " " for char in "\r\n\t"}))
    return text.strip()


def shown(text: str) -> str:
    """The beginning of a text in quotation marks; characters that cannot be seen are escaped."""
    return repr(text[:40] + ("…" if len(text) > 40 else ""))  # noqa: PLR2004  (enough to recognise it by)
