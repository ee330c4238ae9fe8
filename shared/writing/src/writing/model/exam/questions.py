"""The questions of an exam, in the judge's own form, and what they may cost. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from typing import Final

from writing.model.chat import Message
from writing.model.exam.bank import ExamItem
from writing.model.judge.judge import TOKENS_A_READING
from writing.model.judge.question import CitedSentence, cited_by, messages
from writing.model.writer import CHARACTERS_A_TOKEN

A_QUESTION: Final = 10
"""The most sentences of a question: as many as a section has."""
TOKENS_A_SECOND: Final = 50
"""How fast a hosted model writes, for the estimate of the time."""


@dataclass(frozen=True)
class ExamQuestion:
    number: int
    sentences: tuple[ExamItem, ...]
    """Their numbers in the question count from 1."""

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        return messages(self._cited, {each.id: each for one in self.sentences for each in one.cited})

    @property
    def passages(self) -> tuple[str, ...]:
        return cited_by(self._cited)

    @property
    def _cited(self) -> tuple[CitedSentence, ...]:
        return tuple(
            CitedSentence(number, each.sentence, tuple(passage.id for passage in each.cited))
            for number, each in enumerate(self.sentences, 1)
        )


@dataclass(frozen=True, slots=True)
class ExamSize:
    """The size of an exam, and the most that it may take."""

    version: str
    """Of the questions: another one if they differ in anything."""
    questions: int
    sentences: int
    tokens_read: int
    tokens_written: int
    seconds: int


def exam_questions(chosen: Sequence[ExamItem], max_tokens: int) -> tuple[ExamQuestion, ...]:
    """Returns questions of one subject each.

    Args:
        chosen: the sentences, by subject.
        max_tokens: of an answer; fewer sentences are asked at a time if their readings would not fit.
    """
    size = max(1, min(A_QUESTION, max_tokens // TOKENS_A_READING))
    questions: list[ExamQuestion] = []
    for _, of_subject in groupby(chosen, key=lambda each: each.subject):
        some = tuple(of_subject)
        parts = -(-len(some) // size)
        for part in range(parts):
            sentences = some[len(some) * part // parts : len(some) * (part + 1) // parts]
            questions.append(ExamQuestion(len(questions) + 1, sentences))
    return tuple(questions)


def exam_size(questions: Sequence[ExamQuestion]) -> ExamSize:
    sentences = sum(len(each.sentences) for each in questions)
    asked = json.dumps([each.messages for each in questions])
    written = sentences * TOKENS_A_READING
    return ExamSize(
        version=sha256(asked.encode()).hexdigest()[:12],
        questions=len(questions),
        sentences=sentences,
        tokens_read=len(asked) // CHARACTERS_A_TOKEN,
        tokens_written=written,
        seconds=written // TOKENS_A_SECOND,
    )
