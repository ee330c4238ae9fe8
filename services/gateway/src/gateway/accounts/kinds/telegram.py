"""A Telegram bot, https://core.telegram.org/bots/api. Its token is part of every address, so no address is shown."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field, SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    NoAnswer,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    ask_account,
    headers_of,
)

_TOKEN: Final = re.compile(r"[0-9]{3,20}:[A-Za-z0-9_-]{10,100}")
_Chat = Annotated[str, Field(pattern=r"^(@[A-Za-z0-9_]{4,40}|-?[0-9]{1,20})$")]
_CONNECT_AGAIN: Final = "Telegram does not know the bot's token: ask @BotFather for it and connect again"


class TelegramSettings(KindSettings):
    chat: _Chat
    """Where posts go: `@channel`, or the number of a chat."""
    also: tuple[_Chat, ...] = ()
    """Other chats that may get messages."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60


def _token(token: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError("is no token of a bot: it looks like 123456:ABC-DEF…, as @BotFather gives it")
    return token


class TelegramCredentials(AccountCredentials):
    token: Annotated[SecretStr, AfterValidator(_token)]

    def secrets(self) -> tuple[str, ...]:
        token = self.token.get_secret_value()
        return (token, token.partition(":")[2])


def _to_a_known_chat(body: Any, settings: Any) -> str | None:
    chat = str(body.get("chat_id")) if isinstance(body, dict) else None
    return None if chat in {settings.chat, *settings.also} else "chat_id is none of the chats of this account"


class Telegram(AccountKind):
    name: ClassVar = "telegram"
    user_facts: ClassVar = ()
    user_settings: ClassVar = ("chat",)
    settings: ClassVar = TelegramSettings
    credentials: ClassVar = TelegramCredentials
    base: ClassVar = "https://api.telegram.org"
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", "/sendMessage", {}, _to_a_known_chat),
        AllowedRequest("POST", "/sendPhoto", {}, _to_a_known_chat),
        AllowedRequest("GET", "/getChat", {"chat_id": ".+"}),
        AllowedRequest("GET", "/getMe", {}),
    )

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        origin = self.url(context)
        url = f"{origin}/bot{context.credentials.token.get_secret_value()}{request.path}"
        shown = f"{origin}/bot***{request.path}"
        return WireRequest(request.method, url, shown, request.query, headers_of(request), request.body)

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        after = answer.member("parameters", "retry_after")
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS and isinstance(after, int):
            return timedelta(seconds=max(after, 1))
        return super().pause(answer, now)

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        # Telegram answers 404 to an unknown token.
        if answer.status == HTTPStatus.UNAUTHORIZED or (
            answer.status == HTTPStatus.NOT_FOUND and answer.member("description") == "Not Found"
        ):
            return _CONNECT_AGAIN
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        bot = await ask_account(self, transport, context, RemoteRequest("GET", "/getMe"))
        chat = await transport(
            self.outgoing(
                context, RemoteRequest("GET", "/getChat", (("chat_id", context.settings.chat),)), None
            )
        )
        if chat.status == HTTPStatus.BAD_REQUEST:
            raise NoAnswer(
                f"the bot does not see the chat {context.settings.chat}: add it to the channel as an administrator"
            )
        facts = {"chat": context.settings.chat, "bot": str(bot.member("result", "username") or "")}
        title = chat.member("result", "title") or chat.member("result", "username")
        if isinstance(username := chat.member("result", "username"), str):
            facts["username"] = username
        return AccountCheck(str(title) if title else f"@{facts['bot']}", facts)
