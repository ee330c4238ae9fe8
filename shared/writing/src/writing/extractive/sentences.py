"""Splits paragraphs into sentences, and tells prose from other text. Pure."""

import re
from functools import lru_cache
from typing import Final

from writing.body import sentence_spans

MAX_PARAGRAPH: Final = 20_000
"""Characters. Longer texts are data, or lack punctuation."""
_PARAGRAPHS: Final = 512

# After these, a full stop does not end the sentence, against the splitter's model.
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(])(?:cf|e\.g|i\.e|vs|resp|approx|ca|fig|figs|sect|chap|no|vol|pp|incl)\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION: Final = 10
# Behind a full stop in quotes: "the operator ".", which …".
_GOES_ON: Final = re.compile(r"\s?[\"'”’)\]]{0,3}[,;:)]")  # noqa: RUF001 - typographic quotes
_LEAST_LETTERS: Final = 0.7


@lru_cache(_PARAGRAPHS)
def spans(paragraph: str) -> tuple[tuple[int, int], ...]:
    """Returns the (begin, end) of each sentence of a paragraph, without the space around it; none if it is too long."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for begin, end in sentence_spans(paragraph) if len(paragraph) <= MAX_PARAGRAPH else ():
        start = begin if start is None else start
        text = paragraph[start:end].strip()
        open_bracket = text.count("(") > text.count(")")
        if not text or (
            end < len(paragraph)
            and (
                open_bracket
                or _GOES_ON.match(paragraph, end)
                or _ABBREVIATION.search(text, max(0, len(text) - _LONGEST_ABBREVIATION))
            )
        ):
            continue
        at = start + len(paragraph[start:end]) - len(paragraph[start:end].lstrip())
        found.append((at, at + len(text)))
        start = None
    return tuple(found)


def split(paragraph: str) -> tuple[str, ...]:
    """Returns the sentences of a paragraph, each a verbatim slice."""
    return tuple(paragraph[begin:end] for begin, end in spans(paragraph))


def is_prose(text: str) -> bool:
    """Whether a text is mostly letters and spaces, and not code or data."""
    letters = sum(map(str.isalpha, text)) + sum(map(str.isspace, text))
    return letters >= _LEAST_LETTERS * len(text)
