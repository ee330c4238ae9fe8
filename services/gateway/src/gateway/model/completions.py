"""Calls models: it chooses the account, charges by the token, and reuses answers to identical requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from uuid import uuid4

import structlog
from pydantic import JsonValue

from gateway.calls import CallAnswer, CallRequest, ProviderCaller, fingerprint
from gateway.credentials import ProviderAccount, ProviderAccountSummary
from gateway.model.requests import ChatRequest
from gateway.outcomes import AnsweredCall
from gateway.problems import CallProblem, CallProblemError
from gateway.providers import ModelSettings
from gateway.providers.completion import Completion, most_tokens_read
from gateway.providers.model_providers import MODEL_CLIENTS

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model, with the brand that pays."""

    request: ChatRequest
    brand: str
    key: str | None
    anew: bool
    """Do not reuse the answer to another command."""


class ChatCompletions:
    """Requests completions from models.

    Args:
        fresh: maximum age of an answer to another command of the same brand.
    """

    def __init__(self, caller: ProviderCaller, *, fresh: timedelta) -> None:
        self._caller = caller
        self._fresh = fresh

    async def write(self, wanted: ModelCall) -> CallAnswer:
        """Returns `{"document": the provider's answer, "ending": complete, length, content_filter or refusal}`.

        Raises:
            CallProblemError: there is no answer; `problem` says why.
        """
        account = await self._account(wanted.request.model)
        settings = ModelSettings.model_validate(account.settings)
        bound = _bound(account.name, wanted.request, settings)
        body = wanted.request.body(settings.model, settings.max_tokens_field, bound)
        messages = body["messages"]
        rest = {name: value for name, value in body.items() if name != "messages"}
        price = settings.price
        call_request = CallRequest(
            brand=wanted.brand,
            provider=account.name,
            subject=settings.model,
            # With `anew`, only a redelivery of the same command shares the answer.
            fingerprint=fingerprint(
                "chat",
                wanted.brand,
                account.name,
                settings.url,
                body,
                (wanted.key or str(uuid4())) if wanted.anew else None,
            ),
            maximum=price.of(most_tokens_read(messages, rest), bound),
            within=timedelta(seconds=settings.seconds),
            fresh=timedelta() if wanted.anew else self._fresh,
            key=wanted.key,
        )

        return await self._caller.call(
            call_request,
            account,
            settings,
            MODEL_CLIENTS[account.kind],
            body,
            lambda completion: _paid(completion, call_request, settings),
        )

    async def models(self) -> list[tuple[str, str]]:
        """(account, model) of each connected model, by account."""
        return _models(await self._caller.accounts.described())

    async def _account(self, model: str) -> ProviderAccount:
        models: list[tuple[str, str]] = []

        def named(known: Sequence[ProviderAccountSummary]) -> str | None:
            models.extend(_models(known))
            return next((name for name, its in models if model in {name, its}), None)

        account = await self._caller.accounts.chosen(named)
        if account is None:
            there = ", ".join(sorted({word for pair in models for word in pair})) or "none"
            raise CallProblemError(
                CallProblem(
                    "provider.not_connected",
                    f"no model {model[:100]} is connected ({there}): `brandctl providers connect model` does it",
                    HTTPStatus.FAILED_DEPENDENCY,
                )
            )
        return account


def _models(known: Sequence[ProviderAccountSummary]) -> list[tuple[str, str]]:
    return [(each.name, str(each.settings["model"])) for each in known if each.kind in MODEL_CLIENTS]


def _bound(name: str, request: ChatRequest, settings: ModelSettings) -> int:
    if request.bound is None:
        return settings.max_tokens
    if request.bound > settings.max_tokens:
        raise CallProblemError(
            CallProblem(
                "request.too_many_tokens",
                f"max_tokens: {name} writes at most {settings.max_tokens:,} tokens;"
                " `brandctl providers connect --max-tokens` raises that",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        )
    return request.bound


def _paid(completion: Completion, call_request: CallRequest, settings: ModelSettings) -> AnsweredCall:
    answer: JsonValue = {"document": completion.document, "ending": completion.ending.value}
    if completion.read is None or completion.written is None:
        log.warning("usage_not_told", provider=call_request.provider)
        return AnsweredCall(answer, call_request.maximum)
    usage = {"tokens_read": completion.read, "tokens_written": completion.written}
    return AnsweredCall(answer, settings.price.of(completion.read, completion.written), usage)
