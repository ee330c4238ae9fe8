"""Has research search, once, for what the outline of an article leaves open, and waits for its answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

import structlog
from pydantic import TypeAdapter

from envelope import DomainMessage
from envelope.brand.payloads import MAX_QUESTIONS, ContentGenerate, OpenQuestions, ResearchRequested
from messaging import Database, RetryLater, Unprocessable, WaitFor
from writing.article import ArticleSource
from writing.context import PaidSteps

PATIENCE: Final = timedelta(minutes=30)
"""After this time without an answer, the article is written without."""
ANSWERS: Final = "research on the questions that the article leaves open"
SOURCES: Final = TypeAdapter(tuple[ArticleSource, ...])

FetchResearch: TypeAlias = Callable[[UUID, str], Awaitable[tuple[ArticleSource, ...]]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RequestedAnswers:
    """A request to research, and the id under which research stores what it finds."""

    answers_id: UUID
    at: datetime


REQUESTED: Final = TypeAdapter(RequestedAnswers)


@dataclass(frozen=True, slots=True)
class QuestionSearch:
    """Searches for the questions of the article that `message` asks for.

    The request is a message and its answer is fetched, so that a search of minutes blocks no connection, and research decides when
    it is this brand's turn. The id of the answer follows from the step: a repeated step finds the same answer.
    """

    database: Database
    fetch: FetchResearch
    message: DomainMessage[ContentGenerate]

    async def find(self, questions: Sequence[str], steps: PaidSteps) -> tuple[ArticleSource, ...]:
        """Returns what research found; empty if that is nothing, or if it gave no answer within `PATIENCE`.

        Raises:
            WaitFor: there is no answer yet.
        """

        async def request(key: str) -> RequestedAnswers:
            return await self._request(uuid5(NAMESPACE_URL, key), questions)

        requested = await steps.step("ask_research", REQUESTED, request)

        async def fetch(_: str) -> tuple[ArticleSource, ...]:
            return await self._fetch(requested)

        return await steps.step("fetch_answers", SOURCES, fetch)

    async def _request(self, answers_id: UUID, questions: Sequence[str]) -> RequestedAnswers:
        command = self.message.payload
        wanted = ResearchRequested(
            brand_slug=command.brand_slug,
            keyword=command.keyword,
            open_questions=OpenQuestions(answers_id=answers_id, questions=tuple(questions[:MAX_QUESTIONS])),
        )
        async with self.database.transaction() as tx:
            tx.send(wanted, caused_by=self.message)
        return RequestedAnswers(answers_id, datetime.now(UTC))

    async def _fetch(self, requested: RequestedAnswers) -> tuple[ArticleSource, ...]:
        try:
            return await self.fetch(requested.answers_id, self.message.payload.brand_slug)
        except RetryLater as problem:
            if datetime.now(UTC) - requested.at < PATIENCE:
                raise WaitFor(ANSWERS, str(problem), after=problem.after) from problem
            self._go_on_without(problem)
        except Unprocessable as problem:
            self._go_on_without(problem)
        return ()

    def _go_on_without(self, problem: Exception) -> None:
        log.warning(
            "questions_unanswered", content_id=str(self.message.payload.content_id), problem=str(problem)
        )
