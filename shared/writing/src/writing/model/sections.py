"""Writes one section: drafts it, checks it against its passages, repairs it once, and drops it if too little remains."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from writing.model import prompts
from writing.model.answers import DraftSentence, MendedSentences, PlannedSection, SectionDraft
from writing.model.assembly import AssembledSection
from writing.model.chat import Message
from writing.model.claims.wording import sentences_of
from writing.model.drafting import (
    RejectedSentence,
    RejectionReason,
    SupportedSentence,
    WritingMaterial,
    fits_heading,
    is_clean,
)
from writing.model.judge import Judge
from writing.model.session import ModelSession
from writing.quality import REPEATED, alike
from writing.writer import UnusableModelAnswerError

NEAREST_SHARE: Final = 8
"""One part in this many of the room for passages is for the nearest wording of rejected sentences."""
HELD: Final = "held"
CONFIRMED: Final = "confirmed"
REPEATED_BEFORE: Final = "repeated"
VERDICTS: Final = (HELD, CONFIRMED, REPEATED_BEFORE, *RejectionReason)
"""The possible results of a sentence: supported, confirmed by the judge, repeated, or the reason of its rejection."""
KEPT_SHARE: Final = 0.5
"""The least share of sentences that must remain; a section with less was not written from its passages."""


@dataclass(frozen=True, slots=True)
class SectionOutcome:
    """The finished section, or None if it was dropped; and the reasons of all losses."""

    section: AssembledSection | None
    losses: tuple[str, ...]
    verdicts: Counter[str] = field(default_factory=Counter)
    """Counts of the model's sentences for it by result (`VERDICTS`)."""


def _split_sentences(said: DraftSentence) -> Iterator[DraftSentence]:
    """Splits a draft that holds several sentences; leaves out a last one that the length limit cut off."""
    texts = sentences_of(said.text) or (said.text,)
    whole = texts if len(texts) == 1 or texts[-1].rstrip('"”’)').endswith((".", "!", "?")) else texts[:-1]  # noqa: RUF001
    for text in whole:
        yield DraftSentence(text=text, passages=said.passages)


def _rank(verdict: SupportedSentence | RejectedSentence | None) -> int:
    """Ranks the replacements of one sentence: a supported one first, then one that the judge may confirm."""
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
        session: ModelSession,
        material: WritingMaterial,
        keyword: str,
        forbidden: Sequence[str],
        *,
        wishes: Mapping[str, Any],
        tell: Callable[..., tuple[Message, ...]],
        room: int,
        judge: Judge | None = None,
    ) -> None:
        """`tell` builds the messages of a task; `room` is the most characters of passages in a prompt.

        Without a `judge` the rules on words decide alone.
        """
        self._session = session
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
        """Writes section `number` (1-based) to follow the sections `before`."""
        name = f"section {number}"
        offered = tuple(each for each in dict.fromkeys(plan.passages) if each in self._material.evidence)
        if not offered:
            return SectionOutcome(None, (f"{name} has no passage",))
        passages = prompts.passages_as_json([self._material.evidence[each] for each in offered])
        about = {
            "keyword": self._keyword,
            "heading": plan.heading,
            "question": plan.question,
            **self._wishes,
        }
        try:
            draft = await self._session.ask(
                name,
                SectionDraft,
                self._tell(prompts.SECTION, **about, passages=passages),
                passages=offered,
            )
            checked = [
                [
                    await self._check(one, offered)
                    for sentence in paragraph.sentences
                    for one in _split_sentences(sentence)
                ]
                for paragraph in draft.paragraphs
            ]
            judged = await self._read(name, [each for paragraph in checked for each in paragraph])
            judged = await self._repair(name, judged, offered, passages)
        except UnusableModelAnswerError as error:
            return SectionOutcome(None, (str(error),))
        sentences = iter(judged)
        paragraphs = [list(islice(sentences, len(paragraph))) for paragraph in checked]
        return self._finish(name, plan.heading if before else None, paragraphs, before)

    async def _read(
        self, name: str, sentences: Sequence[SupportedSentence | RejectedSentence]
    ) -> list[SupportedSentence | RejectedSentence]:
        return await self._judge.read(name, sentences) if self._judge else list(sentences)

    async def _check(
        self, sentence: DraftSentence, offered: Sequence[str]
    ) -> SupportedSentence | RejectedSentence:
        """Checks one sentence in a thread; short checks, because a thread continues after its task is cancelled."""
        return await asyncio.to_thread(self._material.judge, sentence, frozenset(offered), self._forbidden)

    async def _repair(
        self,
        name: str,
        judged: list[SupportedSentence | RejectedSentence],
        offered: Sequence[str],
        passages: list[dict[str, str]],
    ) -> list[SupportedSentence | RejectedSentence]:
        """Asks the model once to repair rejected sentences; an unusable answer changes nothing."""
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
            answer = await self._session.ask(
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
            for one in _split_sentences(DraftSentence(text=again.text, passages=again.passages)):
                verdict = await self._check(one, offered)
                if _rank(verdict) > _rank(mended.get(again.number)):
                    mended[again.number] = verdict
        read = await self._read(f"{name}.mend", list(mended.values()))
        mended = dict(zip(mended, read, strict=True))
        return [mended.get(at, each) for at, each in enumerate(judged, 1)]

    def _finish(
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
