"""Gives English phrases of the same meaning one form. Pure.

The list has only phrases that are interchangeable everywhere: “5 to 10” for “between 5 and 10”.
"""

import re
from typing import Final

_NUMBER: Final = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred)"
_PERIOD: Final = r"(second|minute|hour|day|week|month|year)"
_LITTLE: Final = r"(?:for|in|of|than|within|after|or|and|to|is|was|by|at|on|with|per)\b"
_PHRASES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"(?<!not )\b(?:has|have) to\b(?= [a-z])", "must"),
        (r"\b(?:is|are) able to\b", "can"),
        (r"\bin order to\b", "to"),
        (r"\bat once(?=[ ,.;])", "immediately"),
        (r"\bannually\b", "per year"),
        (
            rf"\b((?:{_NUMBER}|%|percent|times|once|twice|billion|million|thousand)(?: (?!{_LITTLE})[a-z]+)?) (?:a|an|each|every) {_PERIOD}\b",
            r"\1 per \2",
        ),
        (rf"\ban? {_PERIOD} or two\b", r"one or two \1s"),
        (rf"\bbetween ({_NUMBER})((?: \w+)?) and ({_NUMBER})\b", r"\1\2 to \3"),
        (rf"\bfrom ({_NUMBER})((?: \w+)?) to ({_NUMBER})\b", r"\1\2 to \3"),
        (r"(?<=\d)[-–](?=\d)", " to "),  # noqa: RUF001
        (r"\bslow(s|ed|ing)? down\b", r"slow\1"),
        (r"\blead(?:s|ing)? to\b|\bresults? in\b", "cause"),
        (r"\b(?:led to|resulted in)\b", "caused"),
        (r"\b(?:has|have) an? (?:impact|effect|influence) on\b", "affect"),
        # A statement with “especially if …” is true without it, too.
        (r",? \b(?:especially|particularly|even) (?:if|when|where)\b", "; notably"),
        (r", that is, ", "; "),
        (r"\bcan (also )?be used to\b", r"can \1"),
        (rf"\b({_NUMBER}) (?:different|distinct|separate)\b(?= \w)", r"\1"),
        (r"\bstands for\b", "means"),
        (r"\bin spite of\b", "despite"),
        (r"\bas a result of\b|\bowing to\b|\bdue to\b", "because of"),
    )
)  # fmt: skip


def plain(text: str) -> str:
    """Replaces each phrase of the text with its standard form."""
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    return text
