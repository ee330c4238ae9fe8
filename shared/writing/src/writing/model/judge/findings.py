"""Applies the judge's findings: a rejection counts at once, a confirmation only with quotes from the passages. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from writing.model.claims.comparison import Evidence
from writing.model.claims.pieces import meaningful_keys
from writing.model.claims.rules import names_and_numbers
from writing.model.claims.wording import normal, tokens_of
from writing.model.drafting import (
    RejectedSentence,
    RejectionReason,
    SupportedSentence,
    WritingMaterial,
    is_clean,
)
from writing.model.judge.question import Claim, Finding, Reading

FEWEST_SHOWN: Final = 2
"""The least meaningful words of the sentence that its quotes must contain."""
_LEFT_OUT: Final = re.compile(r"\[?(?:…|\.\.\.)\]?")
_LOOKS: Final = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u2212", "''\"\"-----")
"""Quotation marks and dashes, which models write in different forms."""
_EDGES: Final = " .,;:!?\"'"
_TOLD: Final[Mapping[Finding, str]] = {
    "contradicted": "a second reader found that its passages say otherwise",
    "says_more": "a second reader found that it says more than its passages",
    "not_said": "a second reader found that its passages do not say it",
}
_REASONS: Final[Mapping[Finding, RejectionReason]] = {
    "contradicted": RejectionReason.CONTRADICTED,
    "says_more": RejectionReason.SAYS_MORE,
    "not_said": RejectionReason.NOT_SAID,
}


def apply_reading(
    sentence: SupportedSentence | RejectedSentence, reading: Reading | None, material: WritingMaterial
) -> SupportedSentence | RejectedSentence:
    """Combines the rules' verdict on a sentence with the judge's `reading`, which is None if there was none."""
    cited = [material.evidence[name] for name in dict.fromkeys(sentence.passages)]
    if reading is None:
        return (
            sentence
            if isinstance(sentence, SupportedSentence)
            else replace(sentence, reason=RejectionReason.UNREAD)
        )
    if reading.finding in _TOLD:
        return _refused(sentence, reading, cited)
    if isinstance(sentence, SupportedSentence):
        return sentence
    shown = verify_claims(sentence.text, reading.claims, cited)
    if not shown:
        return replace(sentence, reason=RejectionReason.UNPROVEN)
    sources = {material.source_of[name].n for name in shown}
    return SupportedSentence(sentence.text, tuple(sorted(sources)), sentence.passages, confirmed=True)


def verify_claims(sentence: str, claims: Sequence[Claim], cited: Sequence[Evidence]) -> tuple[str, ...]:
    """Returns the quoted passages if the quotes carry the sentence; else nothing.

    Each claim has a quote; every quote is in its passage, word for word; and the quoted sentences have the names and
    numbers of the sentence.
    """
    passages = {each.id: each for each in cited}
    quotes = [quote for claim in claims for quote in claim.quotes]
    if not all(claim.quotes for claim in claims) or not all(
        each.passage in passages and _stands(each.words, passages[each.passage]) for each in quotes
    ):
        return ()
    shown = tuple(dict.fromkeys(each.passage for each in quotes))
    texts = [each.words for each in quotes] + [passages[name].heading or "" for name in shown]
    keys = {key for text in texts for key in meaningful_keys(tokens_of(normal(text)))}
    own = keys.intersection(meaningful_keys(tokens_of(normal(sentence))))
    return shown if names_and_numbers(sentence) <= keys and len(own) >= FEWEST_SHOWN else ()


def _stands(words: str, passage: Evidence) -> bool:
    """Whether passage or heading contains the words, around each “…” in the same order; ignores forms of quotes and dashes."""
    for text in (passage.text, passage.heading or ""):
        at, there = 0, _plain(text)
        for part in filter(None, (_plain(each).strip(_EDGES) for each in _LEFT_OUT.split(words))):
            at = there.find(part, at)
            if at < 0:
                break
            at += len(part)
        else:
            return at > 0
    return False


def _plain(text: str) -> str:
    return normal(text).casefold().translate(_LOOKS)


def _refused(
    sentence: SupportedSentence | RejectedSentence, reading: Reading, cited: Sequence[Evidence]
) -> RejectedSentence:
    why = normal(reading.why)
    told = _TOLD[reading.finding]
    quotes = (quote for claim in reading.claims for quote in claim.quotes)
    quoted = [normal(each.words) for each in quotes if any(_stands(each.words, one) for one in cited)]
    return RejectedSentence(
        sentence.text,
        sentence.passages,
        f"{told}: {why}" if why and is_clean(why) else told,
        " … ".join(quoted) or (sentence.nearest if isinstance(sentence, RejectedSentence) else ""),
        reason=_REASONS[reading.finding],
        loss=told,
    )
