"""Recognises transitions: sentences that lead from one part of an article to the next and state nothing. Pure.

A sentence is one if it is a fixed form of words, filled with subjects of the article. A subject is a run of words from the
keyword or from a heading that was checked before, so no other word gets in. Forms that could tell an order, a cause or a
remainder ("first comes …", "that leads to …", "that leaves …") are left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from writing.model.claims.wording import normal

MAX_CHARACTERS: Final = 200
"""Of a transition."""
MAX_SUBJECT: Final = 8
"""Words of a keyword or heading that may stand in a transition."""

_MARK: Final = "\x00"
"""Stands for a subject; no normal text has it."""
_X: Final = f"{_MARK}(?: and {_MARK})?"
_POINT: Final = r"(?:question|point|topic|subject|matter)"
_WHICH: Final = r"(?:the|one|another) (?:next |last |first |other |open |obvious |same |remaining )?"
_ASKED: Final = (
    rf"(?:(?:how|why|when|where) (?:to )?{_X}|what {_X} (?:is|are|means?|does|do)|what to do (?:about|with|for) {_X}"
    rf"|which {_X} to (?:use|choose|take|pick)|how (?:it works|it is done|this is done|that is done)"
    r"|what (?:follows|comes next|to do next|this means|that means))"
)
_FORMS: Final = (
    rf"(?:(?:but|and|so) )?(?:now|on|back) (?:for|to) {_X}\.",
    rf"(?:now|next|first|last|finally)(?:,|:) {_X}\.",
    rf"so much for {_X}(?:; now for {_X})?\.",
    rf"(?:that|this|which) (?:brings us to|takes us to|raises|leaves) (?:{_WHICH}{_POINT}(?: of {_X})?|{_POINT}s of {_X})\.",
    rf"(?:that|this) brings us to {_X}\.",
    rf"{_WHICH}{_POINT} (?:is|concerns) (?:{_X}|{_ASKED})\.",
    rf"(?:the rest|what follows|the following)(?: here)? (?:is about|deals with|turns to) {_X}\.",
    rf"it (?:remains|is time) to (?:look at|turn to|say a word (?:on|about)|deal with) {_X}\.",
    rf"(?:(?:but|and|so) )?(?:what about|what of|how about) {_X}\?",
    rf"(?:(?:but|and|so) )?{_ASKED}\?",
    r"(?:but|and|so) (?:how|why|when|where|what)\?",
    rf"(?:here|this) is (?:{_ASKED}|how)\.",
    rf"(?:(?:first|next|now|finally),? )?(?:a word|some words|something|more) (?:on|about) {_X}\.",
    rf"(?:let us|we)(?: now)? (?:turn|come|go|return|look) (?:now )?(?:to|at|back to) {_X}\.",
    r"one (?:thing|question|point) remains\.",
)
_OPENINGS: Final = (
    rf"with {_X} (?:settled|clear|known|covered|in mind|in hand|in place|done|out of the way|behind us)",
    rf"(?:before|after|from|beyond|besides|apart from|as for) {_X}",
    r"with (?:that|this|all that|all this) (?:settled|done|said|in mind|in place|known)",
)
"""Clauses before a comma, with which each of the forms may begin."""
_TRANSITION: Final = re.compile(rf"(?:(?:{'|'.join(_OPENINGS)}), )?(?:{'|'.join(_FORMS)})")
_ARTICLES: Final = "(?:(?:the|an?|its|their|your|this|these|that|those) )?"
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001
_EMPTY: Final = frozenset(
    "a an the of to in on at by for with from as is are was were be and or not no never only if it its they that this how what"  # noqa: SIM905
    " why when where which who does do can may must should will than".split()
)
"""Words that no subject begins or ends with."""


def states_nothing(sentence: str, subjects: Sequence[str]) -> bool:
    """Whether a sentence only leads over, from and to these subjects: the keyword, and headings that were checked."""
    said = normal(sentence).casefold()
    named = sorted({run for each in subjects for run in _runs(each) if run}, key=len, reverse=True)
    if not named or len(said) > MAX_CHARACTERS:
        return False
    one = rf"(?<!\w){_ARTICLES}(?:{'|'.join(map(re.escape, named))})(?!\w)"
    return _TRANSITION.fullmatch(re.sub(one, _MARK, said)) is not None


def _runs(subject: str) -> Iterator[str]:
    words = _WORD.findall(normal(subject).casefold())[:MAX_SUBJECT]
    yield " ".join(words)
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            if not {words[start], words[end - 1]} & _EMPTY:
                yield " ".join(words[start:end])
