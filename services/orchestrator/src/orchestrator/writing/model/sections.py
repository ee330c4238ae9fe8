"""One section: drafted from its own passages, held against them, mended once, and given up if too little is left."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from orchestrator.writing.model import prompts
from orchestrator.writing.model.answers import DraftSentence, MendedSentences, PlannedSection, SectionDraft
from orchestrator.writing.model.asking import ModelSession, UnusableModelAnswerError
from orchestrator.writing.model.assembly import AssembledSection
from orchestrator.writing.model.chat import Message
from orchestrator.writing.model.claims.wording import sentences_of
from orchestrator.writing.model.drafting import (
    RejectedSentence,
    RejectionReason,
    SupportedSentence,
    WritingMaterial,
    fits_heading,
    is_clean,
)
from orchestrator.writing.model.judge import Judge
from orchestrator.writing.quality import REPEATED, alike

NEAREST_SHARE: Final = 8
"""Of the room for passages, one part in so many is for saying again what comes nearest to sentences that do not hold."""
HELD: Final = "held"
CONFIRMED: Final = "confirmed"
REPEATED_BEFORE: Final = "repeated"
VERDICTS: Final = (HELD, CONFIRMED, REPEATED_BEFORE, *RejectionReason)
"""What may become of a sentence: it holds, it took the judge to keep it, it says again what was said, or why it was refused."""
KEPT_SHARE: Final = 0.5
"""A section that loses more than the rest of its sentences was not written from its passages."""


@dataclass(frozen=True, slots=True)
class SectionOutcome:
    """A section that stands, or None; and what was given up, with why."""

    section: AssembledSection | None
    losses: tuple[str, ...]
    verdicts: Counter[str] = field(default_factory=Counter)
    """Of the sentences that the model wrote for it, kept or not, by what became of them (`VERDICTS`)."""


def _one_by_one(said: DraftSentence) -> Iterator[DraftSentence]:
    """Where a model wrote several sentences as one, each by itself, but for a last one that the limit of its length cut off."""
    texts = sentences_of(said.text) or (said.text,)
    whole = texts if len(texts) == 1 or texts[-1].rstrip('"”’)').endswith((".", "!", "?")) else texts[:-1]  # noqa: RUF001
    for text in whole:
        yield DraftSentence(text=text, passages=said.passages)


def _promises(verdict: SupportedSentence | RejectedSentence | None) -> int:
    """Of several sentences in place of one, the one that holds is taken, or else one that may be confirmed."""
    match verdict:
        case None:
            return 0
        case SupportedSentence():
            return 3
        case RejectedSentence(conceivable=conceivable):
            return 1 + conceivable


class SectionWriter:
    def __init__(
        self,
        asking: ModelSession,
        material: WritingMaterial,
        keyword: str,
        forbidden: Sequence[str],
        *,
        wishes: Mapping[str, Any],
        tell: Callable[..., tuple[Message, ...]],
        room: int,
        judge: Judge | None = None,
    ) -> None:
        """`tell` makes the messages of a task and its data; `room` is how many characters of passages the model is shown at most.

        Without a `judge` the rules on words decide alone.
        """
        self._asking = asking
        self._material = material
        self._keyword = keyword
        self._forbidden = forbidden
        self._wishes = wishes
        self._tell = tell
        self._judge = judge
        self._room_for_nearest = room // NEAREST_SHARE

    async def write(
        self, number: int, plan: PlannedSection, before: Sequence[AssembledSection]
    ) -> SectionOutcome:
        """The section in its place, 1-based, after those that stand already."""
        name = f"section {number}"
        offered = tuple(each for each in dict.fromkeys(plan.passages) if each in self._material.evidence)
        if not offered:
            return SectionOutcome(None, (f"{name} has no passage",))
        passages = prompts.quoted([self._material.evidence[each] for each in offered])
        about = {
            "keyword": self._keyword,
            "heading": plan.heading,
            "question": plan.question,
            **self._wishes,
        }
        try:
            draft = await self._asking.ask(
                name,
                SectionDraft,
                self._tell(prompts.SECTION, **about, passages=passages),
                passages=offered,
            )
            checked = [
                [
                    await self._check(one, offered)
                    for sentence in paragraph.sentences
                    for one in _one_by_one(sentence)
                ]
                for paragraph in draft.paragraphs
            ]
            judged = await self._read(name, [each for paragraph in checked for each in paragraph])
            judged = await self._mend(name, judged, offered, passages)
        except UnusableModelAnswerError as error:
            return SectionOutcome(None, (str(error),))
        sentences = iter(judged)
        paragraphs = [list(islice(sentences, len(paragraph))) for paragraph in checked]
        return self._settle(name, plan.heading if before else None, paragraphs, before)

    async def _read(
        self, name: str, sentences: Sequence[SupportedSentence | RejectedSentence]
    ) -> list[SupportedSentence | RejectedSentence]:
        return await self._judge.read(name, sentences) if self._judge else list(sentences)

    async def _check(
        self, sentence: DraftSentence, offered: Sequence[str]
    ) -> SupportedSentence | RejectedSentence:
        """In a thread, sentence by sentence: a thread goes on when its task is cancelled, and has little left to do then."""
        return await asyncio.to_thread(self._material.judge, sentence, frozenset(offered), self._forbidden)

    async def _mend(
        self,
        name: str,
        judged: list[SupportedSentence | RejectedSentence],
        offered: Sequence[str],
        passages: list[dict[str, str]],
    ) -> list[SupportedSentence | RejectedSentence]:
        """Sends what was rejected back, once; the rest stays as it is.

        An unusable answer to that leaves things as they are.
        """
        rejected = {at: each for at, each in enumerate(judged, 1) if isinstance(each, RejectedSentence)}
        if not rejected:
            return judged
        listed: list[dict[str, Any]] = []
        room = self._room_for_nearest
        for at, each in rejected.items():
            listed.append(
                {"number": at, "text": each.text, "passages": each.passages, "problem": each.problem}
            )
            room -= len(each.nearest)
            if room >= 0 and each.nearest:
                listed[-1]["nearest"] = each.nearest
        try:
            answer = await self._asking.ask(
                f"{name}.mend",
                MendedSentences,
                self._tell(prompts.MEND, sentences=listed, passages=passages),
                passages=offered,
            )
        except UnusableModelAnswerError:
            return judged
        mended: dict[int, SupportedSentence | RejectedSentence] = {}
        for again in answer.sentences:
            if again.number not in rejected:
                continue
            for one in _one_by_one(DraftSentence(text=again.text, passages=again.passages)):
                verdict = await self._check(one, offered)
                if _promises(verdict) > _promises(mended.get(again.number)):
                    mended[again.number] = verdict
        read = await self._read(f"{name}.mend", list(mended.values()))
        mended = dict(zip(mended, read, strict=True))
        return [mended.get(at, each) for at, each in enumerate(judged, 1)]

    def _settle(
        self,
        name: str,
        heading: str | None,
        judged: list[list[SupportedSentence | RejectedSentence]],
        before: Sequence[AssembledSection],
    ) -> SectionOutcome:
        said = [kept.text for section in before for kept in section.sentences]
        losses: list[str] = []
        verdicts: Counter[str] = Counter()
        paragraphs: list[tuple[SupportedSentence, ...]] = []
        for paragraph in judged:
            stands: list[SupportedSentence] = []
            for each in paragraph:
                if isinstance(each, RejectedSentence):
                    verdicts[each.reason] += 1
                    losses.append(f"{name}: {each.loss or each.problem}")
                elif any(alike(each.text, other) >= REPEATED for other in said):
                    verdicts[REPEATED_BEFORE] += 1
                    losses.append(f"{name}: it says again what was said before")
                else:
                    verdicts[CONFIRMED if each.confirmed else HELD] += 1
                    said.append(each.text)
                    stands.append(each)
            if stands:
                paragraphs.append(tuple(stands))
        kept = sum(map(len, paragraphs))
        if kept < KEPT_SHARE * verdicts.total() or not kept:
            return SectionOutcome(None, (*losses, f"{name} lost too many of its sentences"), verdicts)
        if heading is not None and not self._heads(heading, paragraphs):
            heading = self._keyword[:1].upper() + self._keyword[1:]
        taken = {section.heading.casefold() for section in before if section.heading}
        if heading is not None and heading.casefold() in taken:
            heading = None
        return SectionOutcome(AssembledSection(heading, tuple(paragraphs)), tuple(losses), verdicts)

    def _heads(self, heading: str, paragraphs: Sequence[Sequence[SupportedSentence]]) -> bool:
        kept = [each.text for paragraph in paragraphs for each in paragraph]
        return is_clean(heading) and fits_heading(heading, kept, self._keyword)
