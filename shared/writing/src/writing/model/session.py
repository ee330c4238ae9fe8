"""Asks the model step by step; stores every answer before using it, so that none is paid for twice."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from writing.context import PaidSteps
from writing.model.answers import AnswerShape, Brief, Front, json_schema
from writing.model.chat import ChatCompletion, ChatModel, ChatRequest, Message
from writing.model.prompts import REPAIR
from writing.writer import UnusableModelAnswerError

COMPLETION: Final = TypeAdapter(ChatCompletion)
MAX_PROBLEM: Final = 500
SHORT_TOKENS: Final = 2_000
"""The least tokens for a short answer, if the model allows that many: some models think before they answer."""

_THOUGHTS: Final = ("<think>", "</think>")

ShapeT = TypeVar("ShapeT", bound=AnswerShape)


class ModelSession:
    """Asks a model for one article, and sums up the tokens.

    Args:
        chat: the model.
        context: the article's context, or that of an exam.
        max_tokens: of an answer; a short one, such as the brief, gets half of it if that is enough.
        compact: true to bound answers for a small context.
    """

    def __init__(
        self, chat: ChatModel, context: PaidSteps, max_tokens: int, *, compact: bool = False
    ) -> None:
        self._chat = chat
        self._context = context
        self.max_tokens = max_tokens
        self._compact = compact
        self.model = chat.model
        self.models: set[str] = set()
        """The names of the models that answered: behind one name there may be another one at any time."""
        self.prompt_tokens = 0
        self.completion_tokens = 0

    async def ask(
        self,
        step: str,
        shape: type[ShapeT],
        messages: tuple[Message, ...],
        *,
        passages: Sequence[str] = (),
        exhibits: Sequence[str] = (),
    ) -> ShapeT:
        """Returns the answer to a step; asks once more if the first one does not fit the shape.

        Args:
            step: its name.
            shape: of the answer.
            messages: the question.
            passages: the ids that the answer may cite.
            exhibits: the ids of tables, lists and listings that the answer may print.

        Raises:
            UnusableModelAnswerError: it refused, or the second answer is unusable too.
            Exception: any error of `ChatModel.complete`.
        """
        response_format = json_schema(shape, passages=passages, exhibits=exhibits, compact=self._compact)
        max_tokens = self._tokens_of(shape)
        first = await self._complete(step, messages, response_format, max_tokens)
        try:
            return _read(first, shape)
        except ValueError as error:
            problem = str(error)
        repair = {"role": "user", "content": REPAIR.format(problem=problem)}
        said = {"role": "assistant", "content": first.content or "(nothing)"}
        second = await self._complete(
            f"{step}.repair", (*messages, said, repair), response_format, max_tokens
        )
        try:
            return _read(second, shape)
        except ValueError as error:
            raise UnusableModelAnswerError(
                f"the model's answer to “{step}” cannot be used, twice: {error}"
            ) from error

    def _tokens_of(self, shape: type[AnswerShape]) -> int:
        """Returns fewer tokens for short answers: less budget is set aside, and a model that repeats itself stops sooner."""
        short = max(self.max_tokens // 2, SHORT_TOKENS) if shape in {Brief, Front} else self.max_tokens
        return min(self.max_tokens, short)

    async def _complete(
        self, step: str, messages: tuple[Message, ...], response_format: dict[str, Any], max_tokens: int
    ) -> ChatCompletion:
        async def work(key: str) -> ChatCompletion:
            return await self._chat.complete(
                ChatRequest(
                    brand_slug=self._context.brand_slug,
                    # A key names one question. After an upgrade or a change of the brand, this step may ask a different one.
                    key=f"{key.replace(' ', '-')}:{_digest(messages, response_format, max_tokens)}",
                    messages=messages,
                    response_format=response_format,
                    max_tokens=max_tokens,
                )
            )

        completion = await self._context.step(f"model:{step}", COMPLETION, work)
        self.model = completion.model
        self.models.add(completion.model)
        self.prompt_tokens += completion.usage.prompt_tokens
        self.completion_tokens += completion.usage.completion_tokens
        if completion.refused:
            raise UnusableModelAnswerError(
                f"the model refused to answer “{step}”: {completion.refusal or completion.finish_reason}"
            )
        return completion


def _read(completion: ChatCompletion, shape: type[ShapeT]) -> ShapeT:
    """Parses an answer. Raises ValueError, with a message for the model, if it was cut off or does not fit the shape."""
    if completion.finish_reason == "length":
        raise ValueError("it was cut off at the limit of its length")
    try:
        return shape.model_validate_json(_bare(completion.content))
    except ValidationError as error:
        found: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'answer'}: {each['msg']}" for each in found[:5]
        )
        raise ValueError(problems[:MAX_PROBLEM]) from error


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _bare(content: str) -> str:
    """Strips the thoughts that some models write before their answer, and the code fence around it."""
    text = content.strip()
    if text.startswith(_THOUGHTS[0]):
        text = text.partition(_THOUGHTS[1])[2].strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.removeprefix("```").removesuffix("```").removeprefix("json")
    return text
