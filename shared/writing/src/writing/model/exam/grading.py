"""Grades a judge's answers in an exam by the bar that it has to reach. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from writing.model.exam.bank import TRUE
from writing.model.exam.questions import ExamQuestion
from writing.model.judge.question import Reading

MOST_LIES_KEPT: Final = 0.02
"""The most lies that a judge may find supported. The rules on words refuse many lies besides, but which ones a writer makes is
not known: the judge has to be good for all of them. A capable model lets one of 100 through."""
LEAST_TRUE_KEPT: Final = 0.90
"""The least true sentences that it has to find supported. A judge that refuses more costs more drafts than it saves work."""


class KeptOf(BaseModel):
    """How many sentences a judge found supported, of how many."""

    model_config = ConfigDict(frozen=True)

    kept: int
    total: int

    @property
    def share(self) -> float:
        return self.kept / self.total if self.total else 0.0


class ExamResult(BaseModel):
    model_config = ConfigDict(frozen=True)

    true: KeptOf
    lies: Mapping[str, KeptOf]
    """By kind."""
    unread: int
    """Sentences without a usable reading. They count as not supported, as in an article."""

    @property
    def all_lies(self) -> KeptOf:
        return KeptOf(
            kept=sum(each.kept for each in self.lies.values()),
            total=sum(each.total for each in self.lies.values()),
        )

    @property
    def passed(self) -> bool:
        return self.all_lies.share <= MOST_LIES_KEPT and self.true.share >= LEAST_TRUE_KEPT


def grade(questions: Sequence[ExamQuestion], answers: Sequence[Sequence[Reading]]) -> ExamResult:
    """Counts what the judge found supported; `answers` has the readings of each question, none if its answer was unusable."""
    found: dict[str, list[bool]] = {}
    unread = 0
    for question, readings in zip(questions, answers, strict=True):
        for number, sentence in enumerate(question.sentences, 1):
            findings = {each.finding for each in readings if each.number == number}
            unread += not findings
            # If a sentence has two readings, the rejecting one counts.
            found.setdefault(sentence.kind, []).append(findings == {"supported"})
    counts = {kind: KeptOf(kept=sum(each), total=len(each)) for kind, each in found.items()}
    true = counts.pop(TRUE, KeptOf(kept=0, total=0))
    return ExamResult(true=true, lies=counts, unread=unread)
