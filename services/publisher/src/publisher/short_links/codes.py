"""What short links look like: ten characters that are the article's, and five that say from which post somebody comes."""

import re
from base64 import b32encode
from secrets import token_bytes
from typing import Final, NamedTuple

_ARTICLE: Final = 10
"""50 bits of chance: nobody finds one by trying."""
_CODE: Final = re.compile(rf"([a-z2-7]{{{_ARTICLE}}})([a-z2-7]{{5}})?")


class ShortLinkCode(NamedTuple):
    article: str
    mark: str
    """Empty: of no post."""


def new_code() -> str:
    """Of an article."""
    return b32encode(token_bytes(_ARTICLE)).decode().lower()[:_ARTICLE]


def parse_code(text: str) -> ShortLinkCode | None:
    """None: no short link of ours looks like this."""
    found = _CODE.fullmatch(text)
    return None if found is None else ShortLinkCode(found[1], found[2] or "")
