"""The codes of short links: ten characters for the article, and five for the post."""

import re
from base64 import b32encode
from secrets import token_bytes
from typing import Final, NamedTuple

_ARTICLE: Final = 10
"""50 random bits: too many to guess."""
_CODE: Final = re.compile(rf"([a-z2-7]{{{_ARTICLE}}})([a-z2-7]{{5}})?")


class ShortLinkCode(NamedTuple):
    article: str
    mark: str
    """Empty if the link belongs to no post."""


def new_code() -> str:
    """A new random code for an article."""
    return b32encode(token_bytes(_ARTICLE)).decode().lower()[:_ARTICLE]


def parse_code(text: str) -> ShortLinkCode | None:
    """The parts of a code; None if the text is not a valid code."""
    found = _CODE.fullmatch(text)
    return None if found is None else ShortLinkCode(found[1], found[2] or "")
