"""The writer with a model: brief, outline, sections, front matter, and a judgement that the model has no part in."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from pydantic import TypeAdapter

from messaging import Unprocessable
from orchestrator.writing.article import Article, Source
from orchestrator.writing.desk import Desk
from orchestrator.writing.model import prompts
from orchestrator.writing.model.answers import Brief, Front, Outline
from orchestrator.writing.model.asking import Asking, UnusableAnswerError
from orchestrator.writing.model.assembly import Section, assemble, sentences_in
from orchestrator.writing.model.chat import Chat
from orchestrator.writing.model.copying import COPIED_SHARE
from orchestrator.writing.model.drafting import Material
from orchestrator.writing.model.quality import measures
from orchestrator.writing.model.sections import SectionWriter
from orchestrator.writing.model.wording import normal

CHARACTERS_A_TOKEN: Final = 3
ANSWER_SHARE: Final = 4
"""Of the context, one part in so many is left for the answer, and another for rules and shape."""
MAX_LOSSES: Final = 6
"""Kinds of losses that an ending names."""
EARLIER: Final = 20
"""Titles of the brand's articles that the brief is told."""
TITLES: Final = TypeAdapter(tuple[str, ...])

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """Writes one article at its desk.

    Args:
        chat: the model.
        desk: of this article.
        context_tokens: what the model reads and writes in one exchange, at most.
    """

    chat: Chat
    desk: Desk
    context_tokens: int

    async def write(
        self, *, keyword: str, sources: Sequence[Source], brand_name: str, language: str
    ) -> Article:
        """As `Writer` has it.

        Raises:
            WaitFor: the model is away, or its budget is spent.
            RetryLater: the model failed.
            Unprocessable: it gave nothing that can be used, `unsupported_draft`, or `needs_review`; with the reasons.
        """
        keyword = normal(keyword)
        material = await asyncio.to_thread(Material.of, sources, max_characters=self._room())
        if material.set_aside:
            _log.warning("passages_set_aside", passages=material.set_aside)
        if not material.evidence:
            raise Unprocessable(
                f"no passage on '{keyword}' may be written from: {', '.join(material.set_aside) or 'there is none'}"
            )
        asking = Asking(self.chat, self.desk, self.context_tokens // ANSWER_SHARE)
        try:
            sections, losses = await self._sections(asking, material, keyword, brand_name, language)
            self._supported(sections, losses, material)
            front = await self._front(asking, sections, keyword, language)
        except UnusableAnswerError as error:
            raise Unprocessable(
                f"{error}; try another model (MODEL_NAME) or give the brand the extractive writer, then replay"
            ) from error
        finally:
            _log.info(
                "model_asked",
                model=asking.model,
                prompt_tokens=asking.prompt_tokens,
                completion_tokens=asking.completion_tokens,
            )
        cited = {n for section in sections for each in section.sentences for n in each.sources}
        article = await asyncio.to_thread(
            assemble, keyword, sections, front, model=asking.model, sources=len(cited)
        )
        await self._judge(keyword, article, sections)
        return article

    async def _earlier(self, _: str) -> tuple[str, ...]:
        """Kept, as answers are: what comes again asks the same, though others of the brand were published meanwhile."""
        return tuple(each.title for each in (await self.desk.earlier())[:EARLIER])

    def _room(self) -> int:
        return self.context_tokens * CHARACTERS_A_TOKEN * (ANSWER_SHARE - 2) // ANSWER_SHARE

    async def _sections(
        self, asking: Asking, material: Material, keyword: str, brand_name: str, language: str
    ) -> tuple[list[Section], list[str]]:
        passages = prompts.quoted(list(material.evidence.values()))
        about = {"keyword": keyword, "brand": brand_name, "language": language}
        earlier = await self.desk.step("earlier_titles", TITLES, self._earlier)
        brief = await asking.ask(
            "brief", Brief, prompts.messages(prompts.BRIEF, **about, earlier=earlier, passages=passages)
        )
        outline = await asking.ask(
            "outline",
            Outline,
            prompts.messages(prompts.OUTLINE, **about, brief=brief.model_dump(), passages=passages),
        )
        writer = SectionWriter(asking, material, keyword, self.desk.forbidden_words)
        sections: list[Section] = []
        losses: list[str] = []
        for number, plan in enumerate(outline.sections, 1):
            outcome = await writer.write(number, plan, sections)
            losses += outcome.losses
            if outcome.section:
                sections.append(outcome.section)
        return sections, losses

    def _supported(self, sections: Sequence[Section], losses: Sequence[str], material: Material) -> None:
        """Raises Unprocessable if nothing is left, or what is left is copied."""
        why = "; ".join(
            f"{problem} ({count} times)" if count > 1 else problem
            for problem, count in Counter(losses).most_common(MAX_LOSSES)
        )
        if not sections:
            raise Unprocessable(f"unsupported_draft: nothing of it is supported by its sources: {why}")
        share = material.copies.share(sentences_in(sections))
        if share > COPIED_SHARE:
            raise Unprocessable(
                f"unsupported_draft: {share:.0%} of it is copied from its sources word by word"
            )

    async def _front(
        self, asking: Asking, sections: Sequence[Section], keyword: str, language: str
    ) -> Front | None:
        """None if the model has no usable answer: the sentences of the article serve then."""
        article = [
            {"heading": section.heading or "", "sentences": [kept.text for kept in section.sentences]}
            for section in sections
        ]
        try:
            return await asking.ask(
                "front",
                Front,
                prompts.messages(prompts.FRONT, keyword=keyword, language=language, article=article),
            )
        except UnusableAnswerError:
            return None

    async def _judge(self, keyword: str, article: Article, sections: Sequence[Section]) -> None:
        measured = measures(
            keyword=keyword,
            title=article.title,
            description=article.meta_description,
            sections=[[[kept.text for kept in each] for each in section.paragraphs] for section in sections],
            sources=len(article.cited),
            earlier=await self.desk.earlier(),
        )
        _log.info("article_measured", **{each.name: each.value for each in measured})
        problems = [each for each in measured if each.problem]
        if not problems:
            return
        ending = (
            "unsupported_draft"
            if {each.name for each in problems} & {"length", "sources"}
            else "needs_review"
        )
        raise Unprocessable(
            f"{ending}: {'; '.join(each.problem or '' for each in problems)}; nothing was published"
        )
