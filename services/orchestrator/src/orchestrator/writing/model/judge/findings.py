"""What follows from what the judge found: it is believed where it refuses, and has to show the words where it does not. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.writing.model.claims import Evidence
from orchestrator.writing.model.claims.clauses import saying
from orchestrator.writing.model.claims.conceivable import names_and_numbers
from orchestrator.writing.model.claims.wording import normal, tokens_of
from orchestrator.writing.model.drafting import (
    RejectedSentence,
    RejectionReason,
    SupportedSentence,
    WritingMaterial,
    is_clean,
)
from orchestrator.writing.model.judge.question import Finding, Quote, Reading

FEWEST_SHOWN: Final = 2
"""Words that say something, of the sentence's own, in what is quoted for it."""
_LEFT_OUT: Final = re.compile(r"\[?(?:…|\.\.\.)\]?")
_LOOKS: Final = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u2212", "''\"\"-----")
"""Quotation marks and dashes, which models write in their own way."""
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


def settled(
    sentence: SupportedSentence | RejectedSentence, reading: Reading | None, material: WritingMaterial
) -> SupportedSentence | RejectedSentence:
    """What becomes of a sentence that code holds, or finds conceivable, after it was read; `reading` is None if it was not."""
    cited = [material.evidence[name] for name in dict.fromkeys(sentence.passages)]
    if reading is None:
        return (
            sentence
            if isinstance(sentence, SupportedSentence)
            else replace(sentence, reason=RejectionReason.UNREAD)
        )
    if reading.finding in _TOLD:
        # Its words stand in its passages, one by one: who finds nothing of it there has not looked.
        if isinstance(sentence, SupportedSentence) and reading.finding == "not_said":
            return sentence
        return _refused(sentence, reading, cited)
    if isinstance(sentence, SupportedSentence):
        return sentence
    shown = words_shown(sentence.text, reading.quotes, cited)
    if not shown:
        return replace(sentence, reason=RejectionReason.UNPROVEN)
    sources = {material.source_of[name].n for name in shown}
    return SupportedSentence(sentence.text, tuple(sorted(sources)), sentence.passages, confirmed=True)


def words_shown(sentence: str, quotes: Sequence[Quote], cited: Sequence[Evidence]) -> tuple[str, ...]:
    """The passages that the quotes stand in, word by word; none unless all of them do, and have the sentence's names and numbers."""
    passages = {each.id: each for each in cited}
    if not quotes or not all(
        each.passage in passages and _stands(each.words, passages[each.passage]) for each in quotes
    ):
        return ()
    shown = tuple(dict.fromkeys(each.passage for each in quotes))
    texts = [each.words for each in quotes] + [passages[name].heading or "" for name in shown]
    keys = {key for text in texts for key in saying(tokens_of(normal(text)))}
    own = keys.intersection(saying(tokens_of(normal(sentence))))
    return shown if names_and_numbers(sentence) <= keys and len(own) >= FEWEST_SHOWN else ()


def _stands(words: str, passage: Evidence) -> bool:
    """Whether the passage or its heading has the words, and on either side of “…” in the same order, whatever their quotation marks and dashes."""
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
    quoted = [normal(each.words) for each in reading.quotes if any(_stands(each.words, one) for one in cited)]
    return RejectedSentence(
        sentence.text,
        sentence.passages,
        f"{told}: {why}" if why and is_clean(why) else told,
        " … ".join(quoted) or (sentence.nearest if isinstance(sentence, RejectedSentence) else ""),
        reason=_REASONS[reading.finding],
        loss=told,
    )
