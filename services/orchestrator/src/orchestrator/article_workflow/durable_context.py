"""The context of one `content.generate`: stores the writer's steps, and pauses it when its time slice is over."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from pydantic import TypeAdapter

from messaging import Database, WaitFor
from orchestrator.article_workflow.domain import wishes_of
from orchestrator.article_workflow.durable import DeliveredCommand, DurableWorkflow, has_claim
from orchestrator.article_workflow.question_search import QuestionSearch
from orchestrator.article_workflow.store import latest_titles
from orchestrator.brands import BrandRow
from orchestrator.judge_exams import find_standings
from writing.article import ArticleSource

ResultT = TypeVar("ResultT")

LATEST_TITLES = 100
TRUSTS: Final = TypeAdapter(bool)
TURN = "its next turn at the writers"


class SupersededError(Exception):
    """The article was cancelled, or another command took over: the writer must stop, and nothing is stored."""


class TimeSlice:
    """Limits the time spent on one article while others wait; the first step always runs."""

    def __init__(self, seconds: float) -> None:
        self._ends = monotonic() + seconds
        self._steps = 0

    def begin_step(self) -> None:
        """Counts a step; raises WaitFor once the time is over."""
        if self._steps and monotonic() >= self._ends:
            raise WaitFor(TURN, f"its time is over after {self._steps} steps; other articles go first")
        self._steps += 1


class DurableWritingContext:
    """Implements `WritingContext` for one `content.generate`: every step has a database row."""

    def __init__(
        self,
        database: Database,
        steps: Callable[[], Awaitable[DurableWorkflow]],
        brand: BrandRow,
        command: DeliveredCommand,
        comment: str,
        turn: TimeSlice,
        questions: QuestionSearch,
    ) -> None:
        self._database = database
        self._resume = steps
        self._steps: DurableWorkflow | None = None
        self.brand_slug = brand.slug
        self.wishes = wishes_of(brand)
        self.comment = comment
        self._command = command
        self._turn = turn
        self._questions = questions

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        if self._steps is None:
            self._steps = await self._resume()
        if not self._steps.has(name):
            self._turn.begin_step()
            async with self._database.connection() as connection:
                if not await has_claim(connection, self._command):
                    raise SupersededError
        return await self._steps.step(name, result_type, partial(work, f"{self._steps.workflow_id}:{name}"))

    async def earlier_titles(self) -> tuple[str, ...]:
        async with self._database.connection() as connection:
            return await latest_titles(connection, self.brand_slug, LATEST_TITLES)

    async def trusts_one_of(self, judges: Sequence[str]) -> bool:
        async def look(_: str) -> bool:
            async with self._database.connection() as connection:
                standings = await find_standings(connection, judges)
            return any(each.has_passed for each in standings.values())

        # A step, since stored answers of the model are about what these rules refused.
        return await self.step("trusts_a_judge", TRUSTS, look)

    async def find_sources(self, questions: Sequence[str]) -> tuple[ArticleSource, ...]:
        return await self._questions.find(questions, self)
