"""Writes one section: drafts it, checks it against its passages, has it mended, and drops it if too little remains."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from writing.article import CutPlace, CutSentence
from writing.model import prompts
from writing.model.answers import DraftSentence, PlannedSection, SectionDraft
from writing.model.assembly import AssembledParagraph, AssembledSection, shown_headings
from writing.model.chat import Message
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import normal, sentences_of
from writing.model.drafting import (
    RejectedSentence,
    RejectionReason,
    SupportedSentence,
    WritingMaterial,
    is_clean,
)
from writing.model.headings import choose_heading, is_carried, says_more
from writing.model.judge.judge import Judge
from writing.model.mending import ROUNDS, Mender, Verdict, problem_of
from writing.model.section_passages import Exhibit
from writing.model.session import ModelSession
from writing.model.transitions import states_nothing
from writing.quality.likeness import alike
from writing.quality.measures import REPEATED
from writing.writer import UnusableModelAnswerError

NEAREST_SHARE: Final = 8
"""One part in this many of the room for passages is for the nearest wording of rejected sentences."""
HELD: Final = "held"
CONFIRMED: Final = "confirmed"
TRANSITION: Final = "transition"
REPEATED_BEFORE: Final = "repeated"
ABANDONED: Final = "section"
"""The reason of a cut: the sentence holds, but too few others of its section do."""
VERDICTS: Final = (HELD, CONFIRMED, TRANSITION, REPEATED_BEFORE, *RejectionReason)
"""The possible results of a sentence: supported, confirmed by the judge, leads over, repeated, or the reason of its rejection."""
KEPT_SHARE: Final = 0.5
"""The least share of its claims that must hold; a section with less was not written from its passages."""
MAX_EXHIBITS: Final = 6
"""Tables, lists and listings that one section is offered."""


@dataclass(frozen=True, slots=True)
class SectionOutcome:
    """The finished section, or None if it was dropped; and the reasons of all losses."""

    section: AssembledSection | None
    losses: tuple[str, ...]
    verdicts: Counter[str] = field(default_factory=Counter)
    """Counts of the model's sentences for it by result (`VERDICTS`)."""
    cuts: tuple[CutSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class ArticlePlan:
    """What all sections of an article have in common."""

    keyword: str
    through_line: str
    headings: tuple[str, ...]
    """As planned, in order."""

    def place_of(self, number: int) -> str:
        """Returns where section `number` (1-based) stands."""
        if number == 1:
            return "opening"
        return "closing" if number == len(self.headings) else "middle"


@dataclass(frozen=True, slots=True)
class _OfferedMaterial:
    """What one section may be written from."""

    passages: tuple[Evidence, ...]
    titles: tuple[str, ...]
    """Headings over its passages."""
    exhibits: Mapping[str, Exhibit]
    subjects: tuple[str, ...]
    """What a transition may name."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.passages)


def _split_sentences(said: DraftSentence) -> Iterator[DraftSentence]:
    """Splits a draft that holds several sentences; leaves out a last one that the length limit cut off."""
    texts = sentences_of(said.text) or (said.text,)
    whole = texts if len(texts) == 1 or texts[-1].rstrip('"”’)').endswith((".", "!", "?")) else texts[:-1]  # noqa: RUF001
    for text in whole:
        yield DraftSentence(text=text, passages=said.passages)


class SectionWriter:
    def __init__(
        self,
        session: ModelSession,
        material: WritingMaterial,
        plan: ArticlePlan,
        forbidden: Sequence[str],
        *,
        wishes: Mapping[str, Any],
        tell: Callable[..., tuple[Message, ...]],
        room: int,
        judge: Judge | None = None,
        small: bool = False,
    ) -> None:
        """`tell` builds the messages of a task; `room` is the most characters of passages in a prompt.

        Without a `judge` the rules on words decide alone. For a `small` context, a section is one paragraph, mended once.
        """
        self._session = session
        self._material = material
        self._plan = plan
        self._forbidden = forbidden
        self._wishes = wishes
        self._tell = tell
        self._judge = judge
        self._small = small
        self._room_for_nearest = room // NEAREST_SHARE

    async def write(
        self, number: int, plan: PlannedSection, words: int | None, before: Sequence[AssembledSection]
    ) -> SectionOutcome:
        """Writes section `number` (1-based) with about so many words, to follow the sections `before`."""
        name = f"section {number}"
        offered = self._offered(plan, before)
        passages = prompts.passages_as_json(offered.passages, self._material.titles)
        about = {
            "keyword": self._plan.keyword,
            "heading": plan.heading,
            "question": plan.question,
            **({} if self._small else self._place(number, before)),
            **self._wishes,
            **({"words": words} if words else {}),
            **({"exhibits": prompts.exhibits_as_json(offered.exhibits)} if offered.exhibits else {}),
        }
        try:
            draft = await self._session.ask(
                name,
                SectionDraft,
                self._tell(prompts.SECTION, **about, passages=passages),
                passages=offered.names,
                exhibits=tuple(offered.exhibits),
            )
        except UnusableModelAnswerError as error:
            return SectionOutcome(None, (str(error),))
        checked = [
            [verdict for said in paragraph.sentences for verdict in await self._check(said, offered)]
            for paragraph in draft.paragraphs
        ]
        drafted = [each for paragraph in checked for each in paragraph]
        heading = plan.heading if before else None
        judged, carried = await self._read_with_heading(name, heading, drafted, offered)
        mender = Mender(
            self._session,
            self._tell,
            lambda said: self._check(said, offered),
            self._read,
            self._room_for_nearest,
            1 if self._small else ROUNDS,
        )
        exhibits = dict(offered.exhibits)
        sentences = iter(await mender.mend(name, judged, offered.passages, passages))
        paragraphs = [
            _JudgedParagraph(tuple(islice(sentences, len(verdicts))), exhibits.pop(said.exhibit, None))
            for said, verdicts in zip(draft.paragraphs, checked, strict=True)
        ]
        return self._finish(name, plan.heading if before else None, carried, paragraphs, offered, before)

    def _offered(self, plan: PlannedSection, before: Sequence[AssembledSection]) -> _OfferedMaterial:
        names = tuple(each for each in dict.fromkeys(plan.passages) if each in self._material.evidence)
        paths = {self._material.titles.get(each, ()) for each in names}
        titles = tuple(dict.fromkeys(path[-1] for path in sorted(paths) if path))
        printed = {id(paragraph.exhibit) for section in before for paragraph in section.paragraphs}
        near = [
            (name, each)
            for name, each in self._material.exhibits.items()
            if each.titles in paths and id(each) not in printed and not self._has_forbidden(each)
        ]
        known = (self._plan.keyword, *(each.heading for each in before if each.heading), *titles)
        if is_carried(plan.heading, known, self._plan.keyword):
            known = (*known, plan.heading)
        return _OfferedMaterial(
            tuple(self._material.evidence[each] for each in names),
            titles,
            {} if self._small else dict(near[:MAX_EXHIBITS]),
            known,
        )

    def _has_forbidden(self, exhibit: Exhibit) -> bool:
        text = "\n".join(exhibit.texts).casefold()
        return any(word.casefold() in text for word in self._forbidden)

    def _place(self, number: int, before: Sequence[AssembledSection]) -> dict[str, Any]:
        """Returns where the section is in the article, as data of the prompt."""
        return {
            "place": self._plan.place_of(number),
            "through_line": self._plan.through_line,
            "headings": self._plan.headings,
            "before": before[-1].sentences[-1].text if before else "",
        }

    async def _read_with_heading(
        self, name: str, heading: str | None, sentences: Sequence[Verdict], offered: _OfferedMaterial
    ) -> tuple[list[Verdict], bool]:
        """Returns the sentences as the judge leaves them, and whether it confirmed the heading.

        It is asked about a heading that no rule carries, with the sentences of the section.
        """
        said = [each.text for each in sentences]
        if (
            heading is None
            or is_carried(heading, (*said, *offered.titles), self._plan.keyword)
            or not (says_more(heading, self._plan.keyword) and is_clean(heading))
        ):
            return await self._read(name, sentences), False
        open_ = RejectedSentence(normal(heading), offered.names, "no sentence carries it", conceivable=True)
        *read, carried = await self._read(name, [*sentences, open_])
        return read, isinstance(carried, SupportedSentence)

    async def _read(self, name: str, sentences: Sequence[Verdict]) -> list[Verdict]:
        if self._judge is None:
            return list(sentences)
        claims = [each for each in sentences if each.passages]
        read = iter(await self._judge.read(name, claims))
        return [next(read) if each.passages else each for each in sentences]

    async def _check(self, draft: DraftSentence, offered: _OfferedMaterial) -> list[Verdict]:
        """Checks each sentence in a thread; short checks, because a thread continues after its task is cancelled."""
        return [
            await asyncio.to_thread(self._verdict, sentence, offered) for sentence in _split_sentences(draft)
        ]

    def _verdict(self, sentence: DraftSentence, offered: _OfferedMaterial) -> Verdict:
        verdict = self._material.judge(sentence, frozenset(offered.names), self._forbidden)
        if isinstance(verdict, RejectedSentence) and states_nothing(verdict.text, offered.subjects):
            return SupportedSentence(verdict.text, (), ())
        return verdict

    def _finish(
        self,
        name: str,
        heading: str | None,
        confirmed: bool,
        judged: Sequence["_JudgedParagraph"],
        offered: _OfferedMaterial,
        before: Sequence[AssembledSection],
    ) -> SectionOutcome:
        said = [kept.text for section in before for kept in section.sentences]
        previous = said[-1] if said else ""
        sorting = _Sorting(name, said)
        paragraphs = tuple(filter(None, map(sorting.paragraph, judged)))
        kept = [each for paragraph in paragraphs for each in paragraph.sentences if each.sources]
        lost = sum(sorting.verdicts[reason] for reason in RejectionReason)
        if not kept or len(kept) < KEPT_SHARE * (len(kept) + lost):
            cuts = (
                each if isinstance(each, CutSentence) else _abandoned(each)
                for each in sorting.sentences
                if isinstance(each, CutSentence) or each.sources
            )
            return SectionOutcome(
                None,
                (*sorting.losses, f"{name} lost too many of its sentences"),
                sorting.verdicts,
                tuple(
                    replace(each, heading=heading or "", after=previous, place=CutPlace.ALONE)
                    for each in cuts
                ),
            )
        if heading is not None:
            carrying = [*(each.text for each in kept), *offered.titles]
            carried = confirmed or is_carried(heading, carrying, self._plan.keyword)
            heading = choose_heading(
                heading if carried else None,
                self._titles_of(kept),
                keyword=self._plan.keyword,
                taken=[section.heading for section in before if section.heading],
            )
        section = AssembledSection(heading, paragraphs)
        shown = shown_headings([*before, section])[-1]
        return SectionOutcome(
            section,
            tuple(sorting.losses),
            sorting.verdicts,
            tuple(
                replace(each, heading=shown) for each in sorting.sentences if isinstance(each, CutSentence)
            ),
        )

    def _titles_of(self, kept: Sequence[SupportedSentence]) -> list[str]:
        """Returns the headings of the cited passages, the most cited first."""
        paths = (self._material.titles.get(passage, ()) for each in kept for passage in each.passages)
        return [title for title, _ in Counter(path[-1] for path in paths if path).most_common()]


@dataclass(frozen=True, slots=True)
class _JudgedParagraph:
    sentences: tuple[Verdict, ...]
    exhibit: Exhibit | None


class _Sorting:
    """Sorts the sentences of a section into kept ones and cuts, and counts them."""

    def __init__(self, name: str, said: list[str]) -> None:
        """`said` are the sentences of the sections before; the kept ones are added to them."""
        self._name = name
        self._said = said
        self._before = said[-1] if said else ""
        self.verdicts: Counter[str] = Counter()
        self.losses: list[str] = []
        self.sentences: list[SupportedSentence | CutSentence] = []
        """In order; the section of cuts is still open."""

    def paragraph(self, judged: _JudgedParagraph) -> AssembledParagraph | None:
        """Returns what stands of a paragraph; None if nothing of it says anything.

        A sentence that only leads over does not end it: paragraphs end in a citation.
        """
        found = [self._sort(each) for each in judged.sentences]
        kept = [each for each in found if isinstance(each, SupportedSentence)]
        while kept and not kept[-1].sources:
            kept.pop()
        self.sentences += self._placed(found, kept)
        if not kept:
            return None
        self._before = kept[-1].text
        sources = {n for each in kept for n in each.sources}
        exhibit = judged.exhibit if judged.exhibit and judged.exhibit.n in sources else None
        return AssembledParagraph(tuple(kept), exhibit)

    def _placed(
        self, found: Sequence[SupportedSentence | CutSentence], kept: Sequence[SupportedSentence]
    ) -> Iterator[SupportedSentence | CutSentence]:
        """Returns the sentences of a paragraph with the places of the cuts; `kept` are those that stay."""
        behind = ""
        for each in found:
            if not isinstance(each, CutSentence):
                behind = each.text if each in kept else behind
                yield each
            elif behind:
                yield replace(each, after=behind, place=CutPlace.BEHIND)
            else:
                yield replace(each, after=self._before, place=CutPlace.OPENS if kept else CutPlace.ALONE)

    def _sort(self, sentence: Verdict) -> SupportedSentence | CutSentence:
        if isinstance(sentence, RejectedSentence):
            return self._cut(
                sentence, sentence.reason, problem_of(sentence), sentence.loss or sentence.problem
            )
        for other in self._said:
            if alike(sentence.text, other) >= REPEATED:
                again = "it says again what was said before"
                rejected = RejectedSentence(sentence.text, sentence.passages, again)
                return self._cut(rejected, REPEATED_BEFORE, f"{again}: “{other}”", again)
        self.verdicts[verdict_of(sentence)] += 1
        self._said.append(sentence.text)
        return sentence

    def _cut(self, sentence: RejectedSentence, reason: str, problem: str, loss: str) -> CutSentence:
        self.verdicts[reason] += 1
        self.losses.append(f"{self._name}: {loss}")
        return CutSentence(sentence.text, "", sentence.passages, str(reason), problem, sentence.nearest)


def verdict_of(sentence: SupportedSentence) -> str:
    """Returns the result of a sentence that stands, one of `VERDICTS`."""
    if not sentence.sources:
        return TRANSITION
    return CONFIRMED if sentence.confirmed else HELD


def _abandoned(sentence: SupportedSentence) -> CutSentence:
    why = "it holds, but too few of the other sentences of its section do"
    return CutSentence(sentence.text, "", sentence.passages, ABANDONED, why, "")
