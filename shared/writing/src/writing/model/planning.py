"""Plans an article: brief and outline, and once more with the sources that were found on its open questions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter

from writing.article import ArticleSource
from writing.context import WritingContext
from writing.model import prompts
from writing.model.answers import MAX_LINE, MAX_PASSAGES, Brief, Outline, PlannedSection
from writing.model.drafting import WritingMaterial
from writing.model.session import ModelSession

EARLIER: Final = 20
"""The number of earlier titles in the prompt of the brief."""
MAX_OPEN: Final = 3
"""Open questions that are searched for, once for an article."""
SMALL_SECTIONS: Final = 3
"""The most sections of an article in a small context."""
TITLES: Final = TypeAdapter(tuple[str, ...])

GatherMaterial = Callable[[Sequence[ArticleSource]], Awaitable[WritingMaterial]]


@dataclass(frozen=True, slots=True)
class PlannedArticle:
    through_line: str
    sections: tuple[PlannedSection, ...]
    """Each with passages of the material."""
    material: WritingMaterial
    sources: Sequence[ArticleSource]
    """The given ones, then those that were found."""
    open_questions: tuple[str, ...] = ()
    """Those that no passage answers: they have no section."""

    @classmethod
    def of(
        cls, outline: Outline, material: WritingMaterial, sources: Sequence[ArticleSource]
    ) -> "PlannedArticle":
        answered = tuple(each for each in outline.sections if material.evidence.keys() & set(each.passages))
        open_ = (each.question for each in outline.sections if each not in answered)
        return cls(outline.through_line, answered, material, sources, tuple(dict.fromkeys(open_)))


class ArticlePlanner:
    """Plans one article; `about` is data of all its prompts, and `gather` makes material of sources."""

    def __init__(
        self,
        session: ModelSession,
        context: WritingContext,
        about: Mapping[str, Any],
        gather: GatherMaterial,
    ) -> None:
        self._session = session
        self._context = context
        self._about = about
        self._gather = gather

    async def plan(self, material: WritingMaterial, sources: Sequence[ArticleSource]) -> PlannedArticle:
        """Plans from this material of the sources. Where sections have no passage, their questions are searched for once."""
        earlier = await self._context.step("earlier_titles", TITLES, self._earlier)
        brief = await self._session.ask(
            "brief",
            Brief,
            prompts.messages(prompts.BRIEF, **self._about, earlier=earlier, passages=_told(material)),
        )
        outline = await self._outline("outline", material, brief, open=MAX_OPEN)
        plan = PlannedArticle.of(outline, material, sources)
        if not plan.open_questions:
            return plan
        found = await self._context.find_sources(plan.open_questions[:MAX_OPEN])
        if not found:
            return plan
        sources = add_sources(sources, found)
        material = await self._gather(sources)
        before = [{"heading": each.heading, "question": each.question} for each in outline.sections]
        again = await self._outline("outline again", material, brief, plan=before)
        return PlannedArticle.of(again, material, sources)

    async def _outline(self, step: str, material: WritingMaterial, brief: Brief, **more: Any) -> Outline:
        return await self._session.ask(
            step,
            Outline,
            prompts.messages(
                prompts.OUTLINE, **self._about, brief=brief.model_dump(), **more, passages=_told(material)
            ),
            passages=tuple(material.evidence),
        )

    async def _earlier(self, _: str) -> tuple[str, ...]:
        """Returns earlier titles as a stored step: a repeated prompt stays the same although the brand published meanwhile."""
        return (await self._context.earlier_titles())[:EARLIER]


def plan_without_model(
    material: WritingMaterial, sources: Sequence[ArticleSource], keyword: str
) -> PlannedArticle:
    """Divides the passages into sections: plans of small models are empty, and their texts repeat them."""
    names = tuple(material.evidence)
    size = -(-len(names) // SMALL_SECTIONS)
    sections = tuple(
        PlannedSection(
            heading=(material.evidence[names[at]].heading or keyword)[:MAX_LINE],
            question=f"What is there to know about {keyword}?"[:MAX_LINE],
            passages=names[at : at + size][:MAX_PASSAGES],
        )
        for at in range(0, len(names), size)
    )
    return PlannedArticle("", sections, material, sources)


def add_sources(
    sources: Sequence[ArticleSource], found: Sequence[ArticleSource]
) -> tuple[ArticleSource, ...]:
    """Returns the sources and those that were found, numbered on.

    A known document gets the passages that it lacks, before its own; another section of it is a source of its own.
    """
    merged = list(sources)
    for each in found:
        places = [at for at, known in enumerate(merged) if _place(known) == _place(each)]
        if not places or (each.section and not any(_has_section(merged[at], each) for at in places)):
            merged.append(replace(each, n=max((known.n for known in merged), default=0) + 1))
            continue
        known = merged[places[0]]
        texts = {passage.text for passage in known.passages}
        new = tuple(passage for passage in each.passages if passage.text not in texts)
        merged[places[0]] = replace(known, passages=(*new, *known.passages))
    return tuple(merged)


def _has_section(known: ArticleSource, other: ArticleSource) -> bool:
    titles = {part.title for _, part in known.section.walk()} if known.section else set()
    return other.section is not None and other.section.title in titles


def _place(source: ArticleSource) -> str:
    return source.path or (source.url or source.title).partition("#")[0]


def _told(material: WritingMaterial) -> list[dict[str, str]]:
    return prompts.passages_as_json(list(material.evidence.values()), material.titles)
