"""The context that a writer gets for one article: brand preferences, durable steps, earlier titles."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from pydantic import TypeAdapter

from writing.article import ArticleSource, BrandWishes
from writing.writer import Writer

ResultT = TypeVar("ResultT")


class PaidSteps(Protocol):
    """Steps with stored results, so that none is paid for twice."""

    @property
    def brand_slug(self) -> str:
        """The brand that pays."""
        ...

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        """Returns the stored result of a step, or runs `work` and stores its result.

        `work` gets a key that is the same each time this step runs for the same command.
        """
        ...


class WritingContext(PaidSteps, Protocol):
    @property
    def wishes(self) -> BrandWishes: ...

    @property
    def comment(self) -> str:
        """The reviewer's comment on the returned draft that this article replaces; empty for a first draft."""
        ...

    async def earlier_titles(self) -> tuple[str, ...]:
        """Returns the titles of the brand's latest articles, the newest first."""
        ...

    async def trusts_one_of(self, judges: Sequence[str]) -> bool:
        """Returns whether one of these judges, by the names of their models, had passed its last exam when the article was begun."""
        ...

    async def find_sources(self, questions: Sequence[str]) -> tuple[ArticleSource, ...]:
        """Returns sources on questions that the article leaves open, each time the same; empty if there are none to be had.

        An article asks once. The numbers of the sources are their own.
        """
        ...


WriterFactory: TypeAlias = Callable[[WritingContext], Writer]
"""Creates the writer of one article."""


@dataclass(frozen=True, slots=True)
class StatelessWriter:
    """A writer factory that returns the same fast writer for every article; that writer stores no steps.

    After a crash the work is repeated, which takes milliseconds and costs less than storing steps.
    """

    writer: Writer

    def __call__(self, _: WritingContext) -> Writer:
        return self.writer
