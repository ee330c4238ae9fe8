"""What a writer works at: durable steps of its own for one article, and what the brand has written already."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from pydantic import TypeAdapter

from orchestrator.writing.writer import Writer

ResultT = TypeVar("ResultT")


class Desk(Protocol):
    @property
    def brand_slug(self) -> str: ...

    @property
    def forbidden_words(self) -> tuple[str, ...]: ...

    @property
    def tone(self) -> str:
        """How the brand wants its articles to read, in its own words; empty if it does not say."""
        ...

    @property
    def audience(self) -> str:
        """Whom it writes for, in its own words; empty if it does not say."""
        ...

    @property
    def words(self) -> int | None:
        """How long it wants them."""
        ...

    @property
    def comment(self) -> str:
        """What a reviewer said of the draft that this article is to replace; empty if there is none."""
        ...

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        """The result of a step of this piece of writing, from its row or else from doing the work.

        `work` gets a key that is the same whenever this step is done again for the same command.
        """
        ...

    async def earlier_titles(self) -> tuple[str, ...]:
        """Of the brand's latest articles, the newest first."""
        ...


WriterAt: TypeAlias = Callable[[Desk], Writer]
"""Makes the writer of one article."""


@dataclass(frozen=True, slots=True)
class Quick:
    """As `WriterAt`: one writer for all articles, which takes milliseconds for one and keeps no steps of its own.

    Nothing of its work is kept before the article is stored: a crash costs less than rows before would.
    """

    writer: Writer

    def __call__(self, _: Desk) -> Writer:
        return self.writer
