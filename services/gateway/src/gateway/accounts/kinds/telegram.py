"""A Telegram bot, https://core.telegram.org/bots/api. Its token is part of every address, so no address is shown."""

import re
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, SecretStr

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
    check_response,
    matching,
)
from integrations.networks.telegram import TELEGRAM_ACCOUNT

_TOKEN: Final = re.compile(r"[0-9]{3,20}:[A-Za-z0-9_-]{10,100}")
_Chat = Annotated[str, Field(pattern=r"^(@[A-Za-z0-9_]{4,40}|-?[0-9]{1,20})$")]
_CONNECT_AGAIN: Final = "Telegram does not know the bot's token: ask @BotFather for it and connect again"


class TelegramSettings(KindSettings):
    chat: _Chat
    """Where posts go: `@channel`, or the number of a chat."""
    also: tuple[_Chat, ...] = ()
    """Other chats that may get messages."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60


class TelegramCredentials(AccountCredentials):
    token: Annotated[
        SecretStr,
        matching(_TOKEN, "is no token of a bot: it looks like 123456:ABC-DEF…, as @BotFather gives it"),
    ]

    def secrets(self) -> tuple[str, ...]:
        token = self.token.get_secret_value()
        return (token, token.partition(":")[2])


def _to_a_known_chat(body: Any, settings: Any) -> str | None:
    chat = str(body.get("chat_id")) if isinstance(body, dict) else None
    return None if chat in {settings.chat, *settings.also} else "chat_id is none of the chats of this account"


class TelegramAccount(AccountKind):
    account: ClassVar = TELEGRAM_ACCOUNT
    user_facts: ClassVar = ()
    user_settings: ClassVar = ("chat",)
    settings: ClassVar = TelegramSettings
    credentials: ClassVar = TelegramCredentials
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/sendMessage", {}, _to_a_known_chat),
        AllowedRequest("POST", "/sendPhoto", {}, _to_a_known_chat),
        AllowedRequest("GET", "/getChat", {"chat_id": ".+"}),
        AllowedRequest("GET", "/getMe", {}),
    )

    def secret_path(self, context: KindContext) -> tuple[str, str]:
        return f"/bot{context.credentials.token.get_secret_value()}", "/bot***"

    def time_until_reset(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        after = answer.member("parameters", "retry_after")
        return timedelta(seconds=max(after, 1)) if isinstance(after, int) else None

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        # Telegram answers 404 to an unknown token.
        if answer.status == HTTPStatus.UNAUTHORIZED or (
            answer.status == HTTPStatus.NOT_FOUND and answer.member("description") == "Not Found"
        ):
            return _CONNECT_AGAIN
        return None

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        bot = await transport(self.outgoing(context, RemoteRequest("GET", "/getMe"), None))
        check_response(self, bot)
        of_chat = RemoteRequest("GET", "/getChat", (("chat_id", context.settings.chat),))
        chat = await transport(self.outgoing(context, of_chat, None))
        if chat.status == HTTPStatus.BAD_REQUEST:
            raise NoAnswer(
                f"the bot does not see the chat {context.settings.chat}: add it to the channel as an administrator"
            )
        facts = {"chat": context.settings.chat, "bot": bot.text("result", "username")}
        title = chat.text("result", "title") or chat.text("result", "username")
        if isinstance(username := chat.member("result", "username"), str):
            facts["username"] = username
        return AccountCheck(title or f"@{facts['bot']}", facts)
