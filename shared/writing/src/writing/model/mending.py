"""Sends rejected sentences back to the model with the reason and the words of their passages, in a few rounds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from writing.model import prompts
from writing.model.answers import DraftSentence, MendedSentences
from writing.model.chat import Message
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import normal, sentences_of, tokens_of
from writing.model.drafting import RejectedSentence, RejectionReason, SupportedSentence
from writing.model.session import ModelSession
from writing.writer import UnusableModelAnswerError

ROUNDS: Final = 3
"""The most times that a section's rejected sentences go back."""
_BLOCKED: Final[Mapping[RejectionReason, str]] = {
    RejectionReason.UNPROVEN: "a second reader could not show the words of its passages that say it",
}
"""What to tell if it was not the rules that decided."""

Verdict: TypeAlias = SupportedSentence | RejectedSentence


def problem_of(rejected: RejectedSentence) -> str:
    """Returns what really blocked a sentence, for its writer and for people."""
    return _BLOCKED.get(rejected.reason, rejected.problem)


@dataclass(frozen=True, slots=True)
class Mender:
    """Mends the sentences of one section.

    Args:
        session: of the writing model.
        tell: builds the messages of a task.
        check: the verdicts of a draft that may hold several sentences.
        read: the second reading of verdicts, by the name of a step.
        room: the most characters of passages' words in a prompt.
        rounds: the most times that sentences go back.
    """

    session: ModelSession
    tell: Callable[..., tuple[Message, ...]]
    check: Callable[[DraftSentence], Awaitable[list[Verdict]]]
    read: Callable[[str, Sequence[Verdict]], Awaitable[list[Verdict]]]
    room: int
    rounds: int

    async def mend(
        self,
        name: str,
        judged: Sequence[Verdict],
        offered: Sequence[Evidence],
        passages: list[dict[str, str]],
    ) -> list[Verdict]:
        """Returns the sentences of section `name` with those that could be mended; an unusable answer changes nothing."""
        nearest = await asyncio.to_thread(_NearestStatement.of, offered)
        sentences = [nearest.filled(each) for each in judged]
        for number in range(1, self.rounds + 1):
            step = f"{name}.mend" if number == 1 else f"{name}.mend.{number}"
            rejected = {
                at: each for at, each in enumerate(sentences, 1) if isinstance(each, RejectedSentence)
            }
            mended = await self._round(step, rejected, offered, passages) if rejected else {}
            if not mended:
                break
            sentences = [nearest.filled(mended.get(at, each)) for at, each in enumerate(sentences, 1)]
        return sentences

    async def _round(
        self,
        step: str,
        rejected: Mapping[int, RejectedSentence],
        offered: Sequence[Evidence],
        passages: list[dict[str, str]],
    ) -> dict[int, Verdict]:
        """Returns new verdicts by number, of sentences that the model wrote anew."""
        try:
            answer = await self.session.ask(
                step,
                MendedSentences,
                self.tell(prompts.MEND, sentences=self._listed(rejected), passages=passages),
                passages=[each.id for each in offered],
            )
        except UnusableModelAnswerError:
            return {}
        mended: dict[int, Verdict] = {}
        for again in answer.sentences:
            if again.number not in rejected or normal(again.text) == rejected[again.number].text:
                continue
            for verdict in await self.check(DraftSentence(text=again.text, passages=again.passages)):
                if _rank(verdict) > _rank(mended.get(again.number)):
                    mended[again.number] = verdict
        return dict(zip(mended, await self.read(step, list(mended.values())), strict=True))

    def _listed(self, rejected: Mapping[int, RejectedSentence]) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        room = self.room
        for at, each in rejected.items():
            listed.append(
                {"number": at, "text": each.text, "passages": each.passages, "problem": problem_of(each)}
            )
            room -= len(each.nearest)
            if room >= 0 and each.nearest:
                listed[-1]["nearest"] = each.nearest
        return listed


def _rank(verdict: Verdict | None) -> int:
    """Ranks the replacements of one sentence: a supported one first, then one that the judge may confirm."""
    match verdict:
        case None:
            return 0
        case SupportedSentence():
            return 3
        case RejectedSentence(conceivable=conceivable):
            return 1 + conceivable


@dataclass(frozen=True, slots=True)
class _NearestStatement:
    """Finds what passages say that is nearest to a sentence."""

    statements: tuple[tuple[str, frozenset[str]], ...]

    @classmethod
    def of(cls, passages: Iterable[Evidence]) -> "_NearestStatement":
        return cls(tuple((said, _keys(said)) for each in passages for said in sentences_of(each.text)))

    def filled(self, verdict: Verdict) -> Verdict:
        """Returns a rejected sentence with the statement that shares most words with it, if it has none yet."""
        if isinstance(verdict, SupportedSentence) or verdict.nearest:
            return verdict
        own = _keys(verdict.text)
        said, keys = max(self.statements, key=lambda each: len(own & each[1]), default=("", frozenset[str]()))
        return replace(verdict, nearest=said) if own & keys else verdict


def _keys(text: str) -> frozenset[str]:
    return frozenset(token.key for token in tokens_of(text) if token.weighs)
