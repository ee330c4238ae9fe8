"""The search for what an article leaves open. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from reading.ranking.sources import RankedPassage, ResearchSource

MAX_SOURCES: Final = 3
"""Sources on one question."""
MAX_PASSAGES: Final = 3
"""Passages of one source."""
_ASKED: Final = re.compile(r"\s*how (?:far|fast|long|many|much|often|soon|well)\b", re.IGNORECASE)
"""Words that a question has and its answer has not: “how long” is “a week”."""


def subject_of(question: str) -> str:
    """Return the question without the words that its answer has not."""
    return _ASKED.sub("", question, count=1).strip()


def merge_answers(answers: Iterable[Sequence[ResearchSource]]) -> tuple[ResearchSource, ...]:
    """Return the best sources on each question; one that is found for several has the passages of all."""
    merged: dict[tuple[str | None, ...], ResearchSource] = {}
    for sources in answers:
        for source in sources[:MAX_SOURCES]:
            place = source.path, source.url, source.section.title if source.section else None
            known = merged[place].passages if place in merged else ()
            passages = tuple(dict.fromkeys((*known, *_best(source.passages))))
            merged[place] = replace(source, passages=passages)
    return tuple(merged.values())


def _best(passages: Sequence[RankedPassage]) -> tuple[RankedPassage, ...]:
    """Return the best passages in reading order."""
    best = sorted(passages, key=lambda each: -each.score)[:MAX_PASSAGES]
    return tuple(each for each in passages if each in best)
