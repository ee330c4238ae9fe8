"""Writes with a model: brief, outline, sections, title and description; the model has no say in the final judgement."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import structlog

from writing.article import (
    MIN_WORDS,
    Article,
    ArticleEvidence,
    ArticleJudge,
    ArticleSource,
    CitedPassage,
    CutSentence,
    KeptSentence,
    ModelDraftCounts,
)
from writing.context import WritingContext
from writing.evidence import RULES
from writing.model import prompts
from writing.model.answers import Front
from writing.model.assembly import AssembledSection, assemble, sentences_in, shown_headings
from writing.model.chat import ChatModel, Message
from writing.model.claims.wording import normal
from writing.model.drafting import SupportedSentence, WritingMaterial
from writing.model.editing import ArticleEditor
from writing.model.judge.judge import Judge
from writing.model.planning import ArticlePlanner, PlannedArticle, plan_without_model
from writing.model.sections import ArticlePlan, SectionWriter, verdict_of
from writing.model.session import ModelSession
from writing.writer import InsufficientSourcesError, UnsupportedDraftError, UnusableModelAnswerError

CHARACTERS_A_TOKEN: Final = 3
ANSWER_SHARE: Final = 4
"""One part in this many of the context is for the answer, and another for rules and shape."""
SMALL_CONTEXT: Final = 4_096
"""Tokens; at or below this, the rules are short, answers are tightly bounded, and the model plans nothing."""
WORDS: Final = 700
"""The length to ask for if the brand sets none."""
MIN_DRAFT: Final = 100
"""The least supported words that make a draft."""
MAX_LOSSES: Final = 6
"""The most kinds of losses that an error names."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """Writes one article with a model.

    Args:
        chat: the model.
        context: the article's context.
        context_tokens: the most tokens that the model reads and writes in one exchange.
        judge: reads every sentence a second time; None: the rules on words decide alone.
        count_verdict: counts sentences by result (`VERDICTS`): `count_verdict(verdict, times)`.
        second_judge: reads what the judge keeps.
    """

    chat: ChatModel
    context: WritingContext
    context_tokens: int
    judge: ChatModel | None = None
    count_verdict: Callable[[str, int], None] | None = None
    second_judge: ChatModel | None = None

    async def write(
        self, *, keyword: str, sources: Sequence[ArticleSource], brand_name: str, language: str
    ) -> Article:
        """Writes the article; see `Writer.write`.

        Raises:
            UnusableModelAnswerError: the model's answers are unusable.
            InsufficientSourcesError: no passage may be used.
            UnsupportedDraftError: the sources support too little of the draft; the message lists the losses.
            Exception: any error of the model.
        """
        keyword = normal(keyword)
        asked_to_judge = [each for each in (self.judge, self.second_judge) if each is not None]
        strict = bool(asked_to_judge) and not await self.context.trusts_one_of(
            [each.model for each in asked_to_judge]
        )
        material = await self._gather(sources, language, strict=strict)
        if not material.evidence:
            raise InsufficientSourcesError(
                f"no passage on “{keyword}” may be written from: {', '.join(material.set_aside) or 'there is none'}"
            )
        session = self._session(self.chat)
        reading = [self._session(each) for each in asked_to_judge]
        try:
            plan = await self._plan(session, material, sources, keyword, brand_name, language)
            material, judge = plan.material, _judge(reading, plan.material)
            draft = await self._draft(session, judge, plan, keyword)
            self._count(draft.verdicts)
            _demand_enough(draft)
            sections = draft.sections
            if not self._small:
                editor = ArticleEditor(session, material, judge, keyword, self.context.wishes.forbidden_words)
                sections = await editor.edit(sections)
            front = await self._front(session, sections, keyword, language)
        finally:
            for asked, what in ((session, "model_asked"), *((each, "judge_asked") for each in reading)):
                _log.info(
                    what,
                    model=asked.model,
                    prompt_tokens=asked.prompt_tokens,
                    completion_tokens=asked.completion_tokens,
                )
        # Once they have answered, their sessions know what models they are.
        judges = " and ".join(each.model for each in reading) or None
        cited = {n for each in _all(sections) for n in each.sources}
        copied = await asyncio.to_thread(material.copies.share, sentences_in(sections))
        return await asyncio.to_thread(
            assemble,
            keyword,
            sections,
            front,
            model=session.model,
            sources=len(cited),
            draft=ModelDraftCounts(
                sentences=draft.verdicts.total(),
                dropped=draft.verdicts.total() - sum(1 for _ in _all(draft.sections)),
                copied=copied,
                confirmed=sum(each.confirmed for each in _all(sections)) if reading else None,
                judges=tuple(
                    ArticleJudge(chat.model, tuple(sorted(its.models)))
                    for chat, its in zip(asked_to_judge, reading, strict=True)
                ),
            ),
            evidence=_evidence(sections, draft.cuts, material, judges or RULES),
            judge=judges,
            found=[each for each in plan.sources[len(sources) :] if each.n in cited],
        )

    async def _gather(
        self, sources: Sequence[ArticleSource], language: str, *, strict: bool
    ) -> WritingMaterial:
        material = await asyncio.to_thread(
            WritingMaterial.of, sources, max_characters=self._room(), language=language, strict=strict
        )
        if material.set_aside:
            _log.warning("passages_set_aside", passages=material.set_aside)
        return material

    def _session(self, chat: ChatModel) -> ModelSession:
        return ModelSession(chat, self.context, self.context_tokens // ANSWER_SHARE, compact=self._small)

    def _count(self, verdicts: Counter[str]) -> None:
        """Counts the results after the last section, so that a resumed article counts its sentences once."""
        for verdict, times in verdicts.items():
            if self.count_verdict is not None:
                self.count_verdict(verdict, times)

    def _wishes(self) -> dict[str, Any]:
        """Returns the preferences of brand and reviewer, if set, as data of the prompt; they do not affect the checks."""
        wishes = {
            "tone": self.context.wishes.tone,
            "audience": self.context.wishes.audience,
            "comment": self.context.comment,
        }
        return {name: wish for name, wish in wishes.items() if wish}

    @property
    def _small(self) -> bool:
        return self.context_tokens <= SMALL_CONTEXT

    @property
    def _tell(self) -> Callable[..., tuple[Message, ...]]:
        return prompts.short_messages if self._small else prompts.messages

    def _room(self) -> int:
        return self.context_tokens * CHARACTERS_A_TOKEN * (ANSWER_SHARE - 2) // ANSWER_SHARE

    @property
    def _words(self) -> int | None:
        return self.context.wishes.words or (None if self._small else WORDS)

    async def _plan(
        self,
        session: ModelSession,
        material: WritingMaterial,
        sources: Sequence[ArticleSource],
        keyword: str,
        brand_name: str,
        language: str,
    ) -> PlannedArticle:
        if self._small:
            return plan_without_model(material, sources, keyword)
        about: dict[str, Any] = {
            "keyword": keyword,
            "brand": brand_name,
            "language": language,
            **self._wishes(),
            "words": self._words,
            "least_words": MIN_WORDS,
        }
        planner = ArticlePlanner(
            session, self.context, about, partial(self._gather, language=language, strict=material.strict)
        )
        return await planner.plan(material, sources)

    async def _draft(
        self, session: ModelSession, judge: Judge | None, planned: PlannedArticle, keyword: str
    ) -> "_Draft":
        words = self._words
        writer = SectionWriter(
            session,
            planned.material,
            ArticlePlan(keyword, planned.through_line, tuple(each.heading for each in planned.sections)),
            self.context.wishes.forbidden_words,
            wishes=self._wishes(),
            tell=self._tell,
            room=self._room(),
            judge=judge,
            small=self._small,
        )
        draft = _Draft(losses=[f"nothing was found on “{each}”" for each in planned.open_questions])
        whole = sum(each.words for each in planned.sections)
        for number, plan in enumerate(planned.sections, 1):
            part = words and words * plan.words // whole
            outcome = await writer.write(number, plan, part, draft.sections)
            draft.losses += outcome.losses
            draft.verdicts += outcome.verdicts
            draft.cuts += outcome.cuts
            if outcome.section:
                draft.sections.append(outcome.section)
        return draft

    async def _front(
        self, session: ModelSession, sections: Sequence[AssembledSection], keyword: str, language: str
    ) -> Front | None:
        """Asks for title, description and key points; None if the answer is unusable, and sentences replace them."""
        article = [
            {"heading": section.heading or "", "sentences": [kept.text for kept in section.sentences]}
            for section in sections
        ]
        try:
            return await session.ask(
                "front",
                Front,
                self._tell(
                    prompts.FRONT, keyword=keyword, language=language, article=article, **self._wishes()
                ),
            )
        except UnusableModelAnswerError:
            return None


@dataclass(slots=True)
class _Draft:
    """The finished sections, and what was lost on the way."""

    sections: list[AssembledSection] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    """Counts of the model's sentences by result."""
    cuts: list[CutSentence] = field(default_factory=list)


def _evidence(
    sections: Sequence[AssembledSection], cuts: Sequence[CutSentence], material: WritingMaterial, judge: str
) -> ArticleEvidence:
    kept = tuple(
        KeptSentence(
            each.text,
            heading,
            each.sources,
            each.passages,
            verdict_of(each),
            judge if each.confirmed else RULES,
        )
        for heading, section in zip(shown_headings(sections), sections, strict=True)
        for each in section.sentences
    )
    cited = [*(each.passages for each in kept), *(each.passages for each in cuts)]
    names = {name for each in cited for name in each if name in material.evidence}
    passages = {
        name: CitedPassage(
            material.source_of[name].n, material.titles.get(name, ()), material.evidence[name].text
        )
        for name in sorted(names)
    }
    return ArticleEvidence(kept, tuple(cuts), passages)


def _judge(sessions: Sequence[ModelSession], material: WritingMaterial) -> Judge | None:
    """Returns the first judge, with the others behind it."""
    judge = None
    for session in reversed(sessions):
        judge = Judge(session, material, then=judge)
    return judge


def _all(sections: Sequence[AssembledSection]) -> Iterator[SupportedSentence]:
    return (kept for section in sections for kept in section.sentences)


def _demand_enough(draft: _Draft) -> None:
    """Raises UnsupportedDraftError, with the most frequent losses, if less than `MIN_DRAFT` words remain."""
    words = sum(len(sentence.split()) for sentence in sentences_in(draft.sections))
    if words >= MIN_DRAFT:
        return
    why = "; ".join(
        f"{problem} ({count} times)" if count > 1 else problem
        for problem, count in Counter(draft.losses).most_common(MAX_LOSSES)
    )
    left = f"{words} words of the draft are" if words else "nothing of the draft is"
    raise UnsupportedDraftError(f"{left} supported by its sources{f': {why}' if why else ''}")
