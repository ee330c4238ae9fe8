"""Questions to a language model and its answers; the caller brings the model itself, as a `ChatModel`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from pydantic import BaseModel

FILTERED: Final = "content_filter"
"""The `finish_reason` of an answer that the provider's content filter removed."""

Message: TypeAlias = Mapping[str, str]


class TokenUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatCompletion(BaseModel):
    """One stored answer: its text, how it ended, its tokens."""

    content: str
    finish_reason: str
    refusal: str | None = None
    model: str
    usage: TokenUsage
    spent: int | None = None
    """Micro-dollars, if the gateway answered."""

    @property
    def refused(self) -> bool:
        return self.refusal is not None or self.finish_reason == FILTERED


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question. A repeated question has the same `key`, so that it can be charged once."""

    brand_slug: str
    key: str
    messages: tuple[Message, ...]
    response_format: Mapping[str, Any]
    max_tokens: int


class ChatModel(Protocol):
    @property
    def model(self) -> str:
        """Its name in articles and logs."""
        ...

    async def complete(self, request: ChatRequest) -> ChatCompletion:
        """Asks once. Its errors pass through the writer unchanged."""
        ...
