"""A bot of Telegram, https://core.telegram.org/bots/api. Its token is part of every address: no address of it is shown."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, Field, SecretStr

from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    Answer,
    Ask,
    Credentials,
    Exchange,
    Kind,
    KindSettings,
    NoAnswer,
    Outgoing,
    Own,
    Request,
    asked,
    headers_of,
)

_TOKEN: Final = re.compile(r"[0-9]{3,20}:[A-Za-z0-9_-]{10,100}")
_Chat = Annotated[str, Field(pattern=r"^(@[A-Za-z0-9_]{4,40}|-?[0-9]{1,20})$")]
_CONNECT_AGAIN: Final = "Telegram does not know the bot's token: ask @BotFather for it and connect again"


class TelegramSettings(KindSettings):
    chat: _Chat
    """Where posts go: `@channel`, or the number of a chat."""
    also: tuple[_Chat, ...] = ()
    """Other chats that messages may go to."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60


def _token(token: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError("is no token of a bot: it looks like 123456:ABC-DEF…, as @BotFather gives it")
    return token


class TelegramCredentials(Credentials):
    token: Annotated[SecretStr, AfterValidator(_token)]

    def secrets(self) -> tuple[str, ...]:
        token = self.token.get_secret_value()
        return (token, token.partition(":")[2])


def _to_a_known_chat(body: Any, settings: Any) -> str | None:
    chat = str(body.get("chat_id")) if isinstance(body, dict) else None
    return None if chat in {settings.chat, *settings.also} else "chat_id is none of the chats of this account"


class Telegram(Kind):
    name: ClassVar = "telegram"
    user_facts: ClassVar = ()
    user_settings: ClassVar = ("chat",)
    settings: ClassVar = TelegramSettings
    credentials: ClassVar = TelegramCredentials
    base: ClassVar = "https://api.telegram.org"
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", "/sendMessage", {}, _to_a_known_chat),
        Ask("POST", "/sendPhoto", {}, _to_a_known_chat),
        Ask("GET", "/getChat", {"chat_id": ".+"}),
        Ask("GET", "/getMe", {}),
    )

    def outgoing(self, own: Own, request: Request, ask: Ask | None) -> Outgoing:
        origin = self.url(own)
        url = f"{origin}/bot{own.credentials.token.get_secret_value()}{request.path}"
        shown = f"{origin}/bot***{request.path}"
        return Outgoing(request.method, url, shown, request.query, headers_of(request), request.body)

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        after = answer.member("parameters", "retry_after")
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS and isinstance(after, int):
            return timedelta(seconds=max(after, 1))
        return super().pause(answer, now)

    def refused(self, answer: Answer) -> str | None:
        # Of a token that it does not know, it says that there is no such page.
        if answer.status == HTTPStatus.UNAUTHORIZED or (
            answer.status == HTTPStatus.NOT_FOUND and answer.member("description") == "Not Found"
        ):
            return _CONNECT_AGAIN
        return None

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        bot = await asked(self, exchange, own, Request("GET", "/getMe"))
        chat = await exchange(
            self.outgoing(own, Request("GET", "/getChat", (("chat_id", own.settings.chat),)), None)
        )
        if chat.status == HTTPStatus.BAD_REQUEST:
            raise NoAnswer(
                f"the bot does not see the chat {own.settings.chat}: add it to the channel as an administrator"
            )
        facts = {"chat": own.settings.chat, "bot": str(bot.member("result", "username") or "")}
        title = chat.member("result", "title") or chat.member("result", "username")
        if isinstance(username := chat.member("result", "username"), str):
            facts["username"] = username
        return Looked(str(title) if title else f"@{facts['bot']}", facts)
