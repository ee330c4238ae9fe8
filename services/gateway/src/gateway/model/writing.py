"""Asking a model: which account, paid once by the token, and answered from what is kept where the request is the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from uuid import uuid4

import structlog
from pydantic import JsonValue

from chassis import Connection
from gateway.calls import Answer, Asked, Paying, ask, fingerprint
from gateway.credentials import Account, Accounts, Described
from gateway.limits import Gates, Go, Wait
from gateway.model.requests import ChatRequest
from gateway.outcomes import Paid
from gateway.problems import Problem, ProblemError
from gateway.providers import ModelSettings
from gateway.providers.asking import Http
from gateway.providers.chat import Chat, Completion, most_tokens_read

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request, and on whose behalf."""

    request: ChatRequest
    brand: str
    key: str | None
    anew: bool
    """Not to be answered with what another command was."""


class Writing:
    """Has models write.

    Args:
        fresh: how old an answer may be that was given to another command of the same brand.
    """

    def __init__(
        self, accounts: Accounts, paying: Paying, gates: Gates, http: Http, *, fresh: timedelta
    ) -> None:
        self._accounts = accounts
        self._paying = paying
        self._gates = gates
        self._fresh = fresh
        self._chat = Chat(http)

    async def write(self, wanted: Wanted) -> Answer:
        """`{"document": as the provider answered, "ending": complete, length, content_filter or refusal}`.

        Raises:
            ProblemError: why there is no answer.
        """
        account = await self._account(wanted.request.model)
        settings = ModelSettings.model_validate(account.settings)
        bound = _bound(account.name, wanted.request, settings)
        body = wanted.request.body(settings.model, settings.max_tokens_field, bound)
        messages = body["messages"]
        rest = {name: value for name, value in body.items() if name != "messages"}
        price = settings.price
        asked = Asked(
            brand=wanted.brand,
            provider=account.name,
            subject=settings.model,
            # What is asked anew is the same as nothing but itself, delivered again.
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

        async def turn(connection: Connection) -> Go | Wait:
            return await self._gates.turn(connection, account.name, wanted.brand, settings.bounds)

        async def send() -> Paid:
            completion = await ask(
                self._accounts,
                self._gates,
                account,
                lambda account: self._chat.complete(account, settings, body),
            )
            return _paid(completion, asked, settings)

        return await self._paying.once(asked, send, turn)

    async def models(self) -> list[tuple[str, str]]:
        """(account, model), by account."""
        return _models(await self._accounts.described())

    async def _account(self, model: str) -> Account:
        models: list[tuple[str, str]] = []

        def named(known: Sequence[Described]) -> str | None:
            models.extend(_models(known))
            return next((name for name, its in models if model in {name, its}), None)

        account = await self._accounts.chosen(named)
        if account is None:
            there = ", ".join(sorted({word for pair in models for word in pair})) or "none"
            raise ProblemError(
                Problem(
                    "provider.not_connected",
                    f"no model {model[:100]} is connected ({there}): `brandctl providers connect model` does it",
                    HTTPStatus.FAILED_DEPENDENCY,
                )
            )
        return account


def _models(known: Sequence[Described]) -> list[tuple[str, str]]:
    return [(each.name, str(each.settings["model"])) for each in known if each.kind == "model"]


def _bound(name: str, request: ChatRequest, settings: ModelSettings) -> int:
    if request.bound is None:
        return settings.max_tokens
    if request.bound > settings.max_tokens:
        raise ProblemError(
            Problem(
                "request.too_many_tokens",
                f"max_tokens: {name} writes at most {settings.max_tokens:,} tokens;"
                " `brandctl providers connect --max-tokens` raises that",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        )
    return request.bound


def _paid(completion: Completion, asked: Asked, settings: ModelSettings) -> Paid:
    answer: JsonValue = {"document": completion.document, "ending": completion.ending.value}
    if completion.read is None or completion.written is None:
        log.warning("usage_not_told", provider=asked.provider)
        return Paid(answer, asked.maximum)
    usage = {"tokens_read": completion.read, "tokens_written": completion.written}
    return Paid(answer, settings.price.of(completion.read, completion.written), usage)
