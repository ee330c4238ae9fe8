"""The editing pass: the model edits the finished sections; an edited sentence is taken if it holds and loses nothing."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Final

from writing.model import prompts
from writing.model.answers import DraftSentence, EditedArticle, EditedSection, EditedSentence
from writing.model.assembly import AssembledParagraph, AssembledSection
from writing.model.claims.rules import names_and_numbers
from writing.model.claims.wording import WordKind, normal, tokens_of
from writing.model.drafting import SupportedSentence, WritingMaterial
from writing.model.judge.judge import Judge
from writing.model.mending import Verdict
from writing.model.section_passages import Exhibit
from writing.model.session import ModelSession
from writing.model.transitions import states_nothing
from writing.writer import UnusableModelAnswerError

SAME_WORDS: Final = 0.7
"""The least share of the words with a meaning that an edited sentence keeps of the old ones."""
MAX_PASSAGES: Final = 6
"""That one sentence cites."""
LONGEST_SUBJECT: Final = 6
"""Words that a pronoun may stand for."""
_PRONOUN: Final = re.compile(r"(?:It|They|He|She) ")


@dataclass(frozen=True, slots=True)
class ArticleEditor:
    """Edits one article.

    Args:
        session: of the writing model.
        material: of the article.
        judge: reads edited sentences a second time; None: the rules on words decide alone.
        keyword: of the article.
        forbidden: words that the brand does without.
    """

    session: ModelSession
    material: WritingMaterial
    judge: Judge | None
    keyword: str
    forbidden: Sequence[str]

    async def edit(self, sections: Sequence[AssembledSection]) -> list[AssembledSection]:
        """Returns the sections edited; a section with missing sentences keeps its former text."""
        numbered = dict(enumerate((kept for section in sections for kept in section.sentences), 1))
        try:
            answer = await self.session.ask(
                "edit",
                EditedArticle,
                prompts.messages(prompts.EDIT, keyword=self.keyword, article=list(_as_json(sections))),
            )
        except UnusableModelAnswerError:
            return list(sections)
        if len(answer.sections) != len(sections):
            return list(sections)
        verdicts = await self._verdicts(answer, numbered)
        subjects = (self.keyword, *(each.heading for each in sections if each.heading))
        edited: list[AssembledSection] = []
        first = 1
        for section, new in zip(sections, answer.sections, strict=True):
            own = {number: numbered[number] for number in range(first, first + len(section.sentences))}
            first += len(own)
            said = [
                number for paragraph in new.paragraphs for each in paragraph.sentences for number in each.of
            ]
            complete = sorted(said) == sorted(own)
            edited.append(_Edition(own, verdicts, subjects).apply(section, new) if complete else section)
        return edited

    async def _verdicts(
        self, answer: EditedArticle, numbered: Mapping[int, SupportedSentence]
    ) -> dict[EditedSentence, Verdict]:
        """Returns the verdicts of reworded sentences."""
        reworded = [
            each
            for section in answer.sections
            for paragraph in section.paragraphs
            for each in paragraph.sentences
            if each.of and all(number in numbered for number in each.of) and _is_reworded(each, numbered)
        ]
        verdicts = [await asyncio.to_thread(self._verdict, each, numbered) for each in reworded]
        if self.judge is not None and verdicts:
            verdicts = await self.judge.read("edit", verdicts)
        return dict(zip(reworded, verdicts, strict=True))

    def _verdict(self, sentence: EditedSentence, numbered: Mapping[int, SupportedSentence]) -> Verdict:
        cited = dict.fromkeys(name for number in sentence.of for name in numbered[number].passages)
        draft = DraftSentence(text=sentence.text, passages=tuple(cited)[:MAX_PASSAGES])
        return self.material.judge(draft, frozenset(self.material.evidence), self.forbidden)


def _as_json(sections: Sequence[AssembledSection]) -> Iterator[dict[str, object]]:
    number = 0
    for section in sections:
        paragraphs = []
        for paragraph in section.paragraphs:
            paragraphs.append(
                [{"number": number + at, "text": kept.text} for at, kept in enumerate(paragraph.sentences, 1)]
            )
            number += len(paragraph.sentences)
        yield {"heading": section.heading or "", "paragraphs": paragraphs}


def _is_reworded(sentence: EditedSentence, numbered: Mapping[int, SupportedSentence]) -> bool:
    return len(sentence.of) > 1 or normal(sentence.text) != numbered[sentence.of[0]].text


@dataclass(frozen=True, slots=True)
class _Edition:
    """Applies the edit of one section."""

    own: Mapping[int, SupportedSentence]
    """Its sentences by number."""
    verdicts: Mapping[EditedSentence, Verdict]
    subjects: tuple[str, ...]

    def apply(self, section: AssembledSection, new: EditedSection) -> AssembledSection:
        """Returns the section edited; as it is if a paragraph would not end in a citation, or lose its table or list."""
        places: dict[int, int] = {}
        paragraphs: list[tuple[SupportedSentence, ...]] = []
        for place, paragraph in enumerate(new.paragraphs):
            kept: list[SupportedSentence] = []
            for each in paragraph.sentences:
                kept += self._taken(each, kept[-1] if kept else None)
                places |= dict.fromkeys(each.of, place)
            paragraphs.append(tuple(kept))
        exhibits: dict[int, Exhibit] = {}
        ends = accumulate((len(each.sentences) for each in section.paragraphs), initial=min(self.own) - 1)
        for end, old in zip(islice(ends, 1, None), section.paragraphs, strict=True):
            if old.exhibit:
                exhibits[places[end]] = old.exhibit
        edited = tuple(AssembledParagraph(kept, exhibits.get(at)) for at, kept in enumerate(paragraphs))
        printed = sum(each.exhibit is not None for each in section.paragraphs)
        stands = len(exhibits) == printed and all(map(_is_whole, edited))
        return replace(section, paragraphs=edited) if stands else section

    def _taken(self, sentence: EditedSentence, before: SupportedSentence | None) -> list[SupportedSentence]:
        """Returns the edited sentence, or the old ones that it says if it does not hold or loses something."""
        text = normal(sentence.text)
        old = [self.own[number] for number in sentence.of]
        if not any(each.sources for each in old):
            leads_over = states_nothing(text, self.subjects)
            return [SupportedSentence(text, (), ())] if leads_over else old
        if len(old) == 1 and text == old[0].text:
            return old
        if len(old) == 1 and before is not None and _names_again(text, old[0].text, before.text):
            return [replace(old[0], text=text)]
        verdict = self.verdicts.get(sentence)
        if not isinstance(verdict, SupportedSentence) or not _says_all(text, old):
            return old
        sources = {n for each in old for n in each.sources} | set(verdict.sources)
        return [replace(verdict, sources=tuple(sorted(sources)))]


def _is_whole(paragraph: AssembledParagraph) -> bool:
    """Whether a paragraph ends in a citation, and cites the source of its table or list."""
    sources = {n for each in paragraph.sentences for n in each.sources}
    ends = bool(paragraph.sentences and paragraph.sentences[-1].sources)
    return ends and (paragraph.exhibit is None or paragraph.exhibit.n in sources)


def _names_again(text: str, old: str, before: str) -> bool:
    """Whether the sentence is the old one with a pronoun for its subject, with which the sentence before begins, too."""
    pronoun = _PRONOUN.match(text)
    rest = text[pronoun.end() :] if pronoun else ""
    if not rest or not old.endswith(f" {rest}"):
        return False
    subject = old.removesuffix(rest).strip()
    begins = before.startswith(subject) and not before[len(subject) : len(subject) + 1].isalnum()
    return begins and len(subject.split()) <= LONGEST_SUBJECT


def _says_all(text: str, old: Sequence[SupportedSentence]) -> bool:
    """Whether a text has all names, numbers and limits of the old sentences, and most of their other words."""
    said = {token.key for token in tokens_of(text)}
    strict: set[str] = set()
    content: set[str] = set()
    for each in old:
        strict |= names_and_numbers(each.text)
        for token in tokens_of(each.text):
            if token.weighs:
                (content if token.kind is WordKind.CONTENT else strict).add(token.key)
    # The first word of a sentence has a capital, but need be no name.
    return strict - content <= said and len(content & said) >= SAME_WORDS * len(content)
