"""Finds paywall notices and promotion in sources, from which nothing is written. Pure.

A paragraph counts if it speaks to the visitor of a page: asks to subscribe, sign in, buy or follow. Text about marketing does not.
"""

import re
from typing import Final

LONGEST: Final = 600
"""Characters; a longer paragraph is text, even if it ends in an appeal."""

_FORMS: Final = (
    r"\b(?:subscribe|register|sign (?:in|up)|log in|join)\b[^.]{0,40}\bto (?:continue reading|keep reading|unlock|read (?:the|this|more|on)\b)",
    r"\b(?:this|the rest of this|the full) (?:article|story|page|post|guide)\b[^.]{0,30}\b(?:for|to) (?:\w+ )?(?:subscribers|members)\b",
    r"\b(?:already|not yet|not) an? (?:subscriber|member)(?: yet)?\?",
    r"\b(?:free articles?|article limit)\b[^.]{0,30}\b(?:this month|left|remaining|reached)\b|\breached[^.]{0,30}\bfree articles?\b",
    r"\b(?:start|get|try|begin) (?:your|a|our) (?:\S+ )?free trial\b",
    r"\b(?:sign up|subscribe)\b[^.]{0,20}\b(?:our|the|my) (?:\w+ )?(?:newsletter|mailing list|channel)\b",
    r"(?:^|[.!?] )(?:buy|order|shop|book) (?:now|today|here|online)\b|\badd to (?:cart|basket)\b|\blimited[- ]time offer\b",
    r"\b(?:use|enter) (?:the )?(?:code|coupon|voucher) (?-i:[A-Z0-9]{4,})\b|\b\d{1,2} ?% off (?:your|all|any|with|orders?)\b",
    r"^\W*(?:sponsored (?:by|content|post)|paid partnership|advertisement)\b|\b(?:contains?|may earn|earn) (?:an? )?affiliate (?:links?|commission)",
    r"\b(?:follow|like|find) us on\b|\b(?:contact|call) us (?:today|now)\b|\bour award-winning ",
)
_FORM: Final = re.compile("|".join(_FORMS), re.IGNORECASE)


def is_promotion(paragraph: str) -> bool:
    """Whether a paragraph of a source asks its visitors to subscribe, sign in, buy or follow."""
    return len(paragraph) <= LONGEST and _FORM.search(paragraph) is not None


def without_promotion(text: str) -> str:
    """Returns a text without such paragraphs; they are separated by blank lines."""
    return "\n\n".join(each for each in text.split("\n\n") if not is_promotion(each))
