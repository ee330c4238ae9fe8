"""Asks the judge about the sentences of a section, as a durable step that is paid once."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Final

import structlog

from writing.model.drafting import RejectedSentence, SupportedSentence, WritingMaterial
from writing.model.judge.findings import apply_reading
from writing.model.judge.question import (
    CitedSentence,
    Reading,
    SecondReading,
    cited_by,
    messages,
)
from writing.model.session import ModelSession
from writing.writer import UnusableModelAnswerError

TOKENS_A_READING: Final = 160
"""Tokens of the answer for one sentence: some quotes, a reason and a finding."""

_log = structlog.get_logger(__name__)


class Judge:
    """Judges the sentences of one article.

    Args:
        session: of the judging model, which may differ from the writing one.
        material: of the article.
        then: another judge, who reads what this one keeps. What both keep stays.
    """

    def __init__(
        self, session: ModelSession, material: WritingMaterial, *, then: "Judge | None" = None
    ) -> None:
        self._session = session
        self._material = material
        self._then = then

    async def read(
        self, name: str, sentences: Sequence[SupportedSentence | RejectedSentence]
    ) -> list[SupportedSentence | RejectedSentence]:
        """Returns the sentences of `name`, such as “section 1”, after the judge has read them.

        The judge sees supported and conceivable sentences. It keeps a conceivable one by confirming it with quotes, and
        rejects a supported one by finding that it says more or something else. An unusable answer changes nothing.

        Raises:
            Exception: any error of `ChatModel.complete`.
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
        read = [
            apply_reading(each, readings.get(number), self._material) if number in numbers else each
            for number, each in enumerate(sentences, 1)
        ]
        if self._then is not None:
            kept = [at for at, each in enumerate(read) if isinstance(each, SupportedSentence)]
            # As the rules left them: what the first judge confirmed, the next one has to confirm by itself.
            again = await self._then.read(f"{name}.then", [sentences[at] for at in kept])
            for at, each in zip(kept, again, strict=True):
                read[at] = each
        return read

    def _at_a_time(self, asked: Sequence[CitedSentence]) -> Iterator[Sequence[CitedSentence]]:
        """Splits the sentences into batches that fit one answer."""
        size = max(1, self._session.max_tokens // TOKENS_A_READING)
        return (asked[at : at + size] for at in range(0, len(asked), size))

    async def _ask(self, name: str, asked: Sequence[CitedSentence]) -> dict[int, Reading]:
        # The step's name contains the sentences: findings about repaired ones, or under another version's rules, differ.
        step = f"{name}.judge.{_digest(asked)}"
        try:
            answer = await self._session.ask(
                step, SecondReading, messages(asked, self._material.evidence), passages=cited_by(asked)
            )
        except UnusableModelAnswerError as error:
            _log.warning("judge_unusable", step=step, problem=str(error))
            return {}
        wanted = {each.number for each in asked}
        found: dict[int, Reading] = {}
        for reading in answer.readings:
            # If a sentence has two readings, the rejecting one counts.
            if reading.number in wanted and (
                reading.number not in found or found[reading.number].finding == "supported"
            ):
                found[reading.number] = reading
        return found


def _digest(asked: Sequence[CitedSentence]) -> str:
    told = json.dumps([[each.number, each.text, *each.passages] for each in asked])
    return hashlib.sha256(told.encode()).hexdigest()[:8]
