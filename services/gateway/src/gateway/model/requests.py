"""Requests to models: the part of OpenAI's chat completions that has a bounded cost."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MAX_CHARACTERS = 1_000_000


class TextPart(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: Annotated[str, StringConstraints(max_length=MAX_CHARACTERS)]


class ChatMessage(BaseModel):
    """Text only: the cost of pictures and tools has no bound."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=MAX_CHARACTERS)] | list[TextPart]
    name: Annotated[str, StringConstraints(max_length=64)] | None = None


class JsonSchema(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    strict: bool | None = None
    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class ResponseFormat(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class ChatRequest(BaseModel):
    """`model` is an account's name, as in `brandctl providers list`, or the name of its model."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1000)]
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    seed: int | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    n: Literal[1] | None = None
    stream: Literal[False] | None = None
    """Streaming is not supported: each answer is checked, charged and stored first."""

    @model_validator(mode="after")
    def _one_bound(self) -> "ChatRequest":
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise ValueError("max_tokens and max_completion_tokens mean the same: give only one of them")
        return self

    @property
    def bound(self) -> int | None:
        """The limit on tokens to write."""
        return self.max_completion_tokens if self.max_tokens is None else self.max_tokens

    def body(self, model: str, bound_field: str, bound: int) -> dict[str, Any]:
        """The body for the provider."""
        given = self.model_dump(
            mode="json",
            by_alias=True,
            exclude_none=True,
            exclude={"model", "max_tokens", "max_completion_tokens", "n", "stream"},
        )
        return {"model": model, bound_field: bound, **given}
