"""Asks the judge about the sentences of a section: one more step of the writing, durable and paid for once like the others."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Final

import structlog

from orchestrator.writing.model.asking import ModelSession, UnusableModelAnswerError
from orchestrator.writing.model.drafting import RejectedSentence, SupportedSentence, WritingMaterial
from orchestrator.writing.model.judge.findings import settled
from orchestrator.writing.model.judge.question import (
    CitedSentence,
    Reading,
    SecondReading,
    cited_by,
    messages,
)

TOKENS_A_READING: Final = 160
"""Of the answer, for one sentence: some quotes, a reason and a word."""

_log = structlog.get_logger(__name__)


class Judge:
    """Reads the sentences of one article a second time.

    Args:
        asking: of the model that judges, which need not be the one that writes.
        material: of the article.
    """

    def __init__(self, asking: ModelSession, material: WritingMaterial) -> None:
        self._asking = asking
        self._material = material

    async def read(
        self, name: str, sentences: Sequence[SupportedSentence | RejectedSentence]
    ) -> list[SupportedSentence | RejectedSentence]:
        """The sentences of `name`, such as “section 1”, as they stand after they were read.

        It sees those that hold and those that are conceivable. One that is conceivable is kept if the judge confirms it and shows the
        words; one that holds is given up if the judge finds that it says more, or something else. An answer that cannot be used
        leaves things as code has them.

        Raises:
            WaitFor, RetryLater, Unprocessable: as of `Chat.complete`.
        """
        asked = [
            CitedSentence(number, each.text, each.passages)
            for number, each in enumerate(sentences, 1)
            if isinstance(each, SupportedSentence) or each.conceivable
        ]
        readings: dict[int, Reading] = {}
        for some in self._at_a_time(asked):
            readings |= await self._ask(name, some)
        numbers = {each.number for each in asked}
        return [
            settled(each, readings.get(number), self._material) if number in numbers else each
            for number, each in enumerate(sentences, 1)
        ]

    def _at_a_time(self, asked: Sequence[CitedSentence]) -> Iterator[Sequence[CitedSentence]]:
        """As many as one answer has room for."""
        size = max(1, self._asking.max_tokens // TOKENS_A_READING)
        return (asked[at : at + size] for at in range(0, len(asked), size))

    async def _ask(self, name: str, asked: Sequence[CitedSentence]) -> dict[int, Reading]:
        # What was found of other sentences is no answer: those of a mended section, or of another version's rules, have another name.
        step = f"{name}.judge.{_digest(asked)}"
        try:
            answer = await self._asking.ask(
                step, SecondReading, messages(asked, self._material.evidence), passages=cited_by(asked)
            )
        except UnusableModelAnswerError as error:
            _log.warning("judge_unusable", step=step, problem=str(error))
            return {}
        wanted = {each.number for each in asked}
        found: dict[int, Reading] = {}
        for reading in answer.readings:
            # Of two readings of one sentence, the one that refuses it.
            if reading.number in wanted and (
                reading.number not in found or found[reading.number].finding == "supported"
            ):
                found[reading.number] = reading
        return found


def _digest(asked: Sequence[CitedSentence]) -> str:
    told = json.dumps([[each.number, each.text, *each.passages] for each in asked])
    return hashlib.sha256(told.encode()).hexdigest()[:8]
