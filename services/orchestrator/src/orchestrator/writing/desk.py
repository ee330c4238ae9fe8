"""What a writer works at: durable steps of its own for one article, and what the brand has published."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from pydantic import TypeAdapter

from orchestrator.writing.writer import Writer

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Earlier:
    """An article that the brand has already."""

    title: str
    address: str
    """Where it can be seen, or else how the API finds it."""
    body_markdown: str


class Desk(Protocol):
    @property
    def brand_slug(self) -> str: ...

    @property
    def forbidden_words(self) -> tuple[str, ...]: ...

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        """The result of a step of this piece of writing, from its row or else from doing the work.

        `work` gets a key that is the same whenever this step is done again for the same command.
        """
        ...

    async def earlier(self) -> tuple[Earlier, ...]:
        """The brand's latest articles, the newest first."""
        ...


WriterAt: TypeAlias = Callable[[Desk], Writer]
"""Makes the writer of one article."""
