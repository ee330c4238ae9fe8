"""Client of a language model: `POST {MODEL_URL}/chat/completions`, as OpenAI, Ollama, vLLM, llama.cpp and the gateway offer it."""

import asyncio
from http import HTTPStatus
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationError

from chassis.http import chain_headers
from chassis.http.client import FailedError, UnavailableError
from chassis.http.outgoing import BROKEN, NOT_CONNECTED, Origin, header, reason_of
from chassis.http.spans import Exchange, client_span
from messaging import Dependency, RetryLater
from orchestrator.article_workflow.model_refusals import excerpt, is_filtered, refusal
from writing.model.chat import FILTERED, ChatCompletion, ChatRequest, TokenUsage

MAX_BYTES: Final = 2 * 1024 * 1024
_CONNECT_SECONDS: Final = 10.0
"""A process that the machine holds up for seconds does not take the model for away."""
_THERE_SECONDS: Final = 2.0
"""Seconds for the check whether a server that timed out is up at all."""

_COMPLETIONS: Final = "/chat/completions"
_MODELS: Final = "/models"


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


_Text = Annotated[str, AfterValidator(_without_nul)]
"""PostgreSQL stores no NUL."""


class _ResponseMessage(BaseModel):
    content: _Text | None = None
    refusal: _Text | None = None


class _Choice(BaseModel):
    message: _ResponseMessage
    finish_reason: _Text | None = None


class _FromGateway(BaseModel):
    """The additions of the gateway to an answer."""

    spent: int | None = None


class _Answer(BaseModel):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    model: _Text | None = None
    usage: TokenUsage | None = None
    gateway: _FromGateway = _FromGateway()


class ChatClient:
    """Calls the model, as `writing.model.chat.ChatModel`; create one per process.

    Args:
        url: MODEL_URL, to which `/chat/completions` is added. Its server receives the service's key.
        model: the model's name in requests.
        timeout_seconds: for one whole answer.
        dependency: tracks outages of the model.
    """

    def __init__(
        self, url: str, service_key: SecretStr, *, model: str, timeout_seconds: float, dependency: Dependency
    ) -> None:
        self.model = model
        self._timeout_seconds = timeout_seconds
        self._dependency = dependency
        self._origin = Origin(
            url,
            {
                "X-Service-Key": service_key.get_secret_value(),
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            connect_seconds=min(_CONNECT_SECONDS, timeout_seconds),
        )
        self._url = f"{self._origin.url}{_COMPLETIONS}"

    async def aclose(self) -> None:
        await self._origin.aclose()

    async def complete(self, request: ChatRequest) -> ChatCompletion:
        """Asks once.

        Raises:
            WaitFor: the model is away, or the budget or a limit is used up; the question is fine.
            RetryLater: it failed for this question.
            Unprocessable: it rejects this question, now and later; the message says what to do.
        """
        try:
            async with self._dependency.call():
                status, retry_after, body = await self._post(request)
                refused = None if status == HTTPStatus.OK else refusal(status, retry_after, body)
                if isinstance(refused, UnavailableError):
                    raise refused
        except FailedError as error:
            raise RetryLater(str(error), after=error.after) from error
        if refused is None:
            return self._read(body)
        if is_filtered(body):
            return ChatCompletion(content="", finish_reason=FILTERED, model=self.model, usage=TokenUsage())
        raise refused

    async def _post(self, request: ChatRequest) -> tuple[int, str | None, bytes]:
        """Returns status, `Retry-After` and body of any answer.

        Raises:
            UnavailableError: the server cannot be reached.
            FailedError: the server is up, but did not answer in time, or answered too much.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds):
                with client_span("POST", self._url) as exchange:
                    return await self._exchange(request, exchange)
        except NOT_CONNECTED as error:
            raise UnavailableError(f"the model does not answer at {self._url}: {reason_of(error)}") from error
        except TimeoutError as error:
            # One question may be too much for a healthy server: waiting would never end for it.
            problem = f"the model does not answer in time at {self._url}"
            if await self._is_there():
                raise FailedError(f"{problem}; its server does") from error
            raise UnavailableError(problem) from error
        except BROKEN as error:
            raise UnavailableError(f"the model broke off at {self._url}: {reason_of(error)}") from error

    async def _is_there(self) -> bool:
        """Whether the server answers at all, with any status."""
        try:
            async with asyncio.timeout(_THERE_SECONDS):
                async with self._origin.sent("GET", _MODELS, {}):
                    pass
        except (*NOT_CONNECTED, *BROKEN, TimeoutError):
            return False
        return True

    async def _exchange(self, request: ChatRequest, exchange: Exchange) -> tuple[int, str | None, bytes]:
        # `no-cache`: a replay must get a new answer, not the one to another command.
        headers = {
            "Idempotency-Key": request.key,
            "X-Brand": request.brand_slug,
            "Cache-Control": "no-cache",
            **exchange.headers,
            **chain_headers.outgoing(),
        }
        question = {
            "model": self.model,
            "messages": list(request.messages),
            "response_format": request.response_format,
            "max_tokens": request.max_tokens,
            "temperature": 0.2,
            "stream": False,
        }
        async with self._origin.sent("POST", _COMPLETIONS, headers, question) as response:
            exchange.answered(response.status)
            body = bytearray()
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise FailedError(f"the model's answer is larger than {MAX_BYTES} bytes")
            return response.status, header(response, b"retry-after"), bytes(body)

    def _read(self, body: bytes) -> ChatCompletion:
        try:
            answer = _Answer.model_validate_json(body)
        except ValidationError as error:
            raise RetryLater(f"the model's answer is no chat completion: {excerpt(body)}") from error
        choice = answer.choices[0]
        return ChatCompletion(
            content=choice.message.content or "",
            finish_reason=choice.finish_reason or "stop",
            refusal=choice.message.refusal or None,
            model=answer.model or self.model,
            usage=answer.usage or TokenUsage(),
            spent=answer.gateway.spent,
        )
