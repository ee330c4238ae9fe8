"""Discord: a webhook of one channel, `discord.com/api/webhooks/{id}/{token}`.

Documented: https://discord.com/developers/docs/resources/webhook#execute-webhook, …/reference#error-messages,
…/topics/rate-limits, …/resources/message#allowed-mentions-object
"""

import json
import re
from itertools import count
from typing import Any, Final

from fakes.serving.cases import ChannelCase, EffectPlace, nothing
from fakes.serving.exchange import Part, Reply, Request, as_json, empty
from fakes.serving.fake import AcceptedItem, Fake, route

_MOST: Final = 2000
_MOST_EMBEDS: Final = 10
_MARKED: Final = re.compile(r"\\([^a-zA-Z0-9\s])")
_LINES: Final = (
    (re.compile(r"^\*\*(.*)\*\*$", re.MULTILINE), r"\1"),
    (re.compile(r"^> ", re.MULTILINE), ""),
    (re.compile(r"^- ", re.MULTILINE), "• "),
)
"""What a backslash keeps from being Markdown."""
_MENTION: Final = re.compile(r"@everyone|@here|<@&?\d+>")


class FakeDiscord(Fake):
    """`more["pings"]` of an accepted item: the people that it notified."""

    def __init__(self, webhook: str = "223704706495545344", token: str = "discord_token_of_the_fake") -> None:
        super().__init__()
        self.webhook = webhook
        self.token = token
        self._ids = count(1_100_000_000_000_000_001)

    @route("POST", "/api/webhooks/{webhook}/{token}")
    def execute(self, request: Request, webhook: str, token: str) -> Reply:
        return self._executed(request, webhook, token)

    @route("POST", "/api/v10/webhooks/{webhook}/{token}")
    def execute_v10(self, request: Request, webhook: str, token: str) -> Reply:
        return self._executed(request, webhook, token)

    @route("GET", "/api/webhooks/{webhook}/{token}")
    def show(self, request: Request, webhook: str, token: str) -> Reply:
        return self._shown(request, webhook, token)

    @route("GET", "/api/v10/webhooks/{webhook}/{token}")
    def show_v10(self, request: Request, webhook: str, token: str) -> Reply:
        return self._shown(request, webhook, token)

    @route("GET", "/api/webhooks/{webhook}/{token}/messages/{message}")
    def message(self, request: Request, webhook: str, token: str, message: str) -> Reply:
        """By its id: there is no list."""
        if (no := self._problem_with(request, webhook, token)) is not None:
            return no
        found = next((each for each in self.accepted if each.id == message), None)
        return (
            as_json(self._told(found))
            if found
            else as_json({"message": "Unknown Message", "code": 10008}, 404)
        )

    def _executed(self, request: Request, webhook: str, token: str) -> Reply:
        if (no := self._problem_with(request, webhook, token)) is not None:
            return no
        parts = {part.name: part for part in request.parts()}
        data = json.loads(parts["payload_json"].data) if parts else request.json()
        content, embeds = data.get("content", ""), data.get("embeds", [])
        files = [part for name, part in parts.items() if name.startswith("files[")]
        if not content and not embeds and not files:
            return as_json({"message": "Cannot send an empty message", "code": 50006}, 400)
        if len(content) > _MOST:
            return _invalid("content", f"Must be {_MOST} or fewer in length.")
        if len(embeds) > _MOST_EMBEDS:
            return _invalid("embeds", f"Must be {_MOST_EMBEDS} or fewer in length.")
        allowed = data.get("allowed_mentions", {"parse": ["users", "roles", "everyone"]})
        made = AcceptedItem(
            str(next(self._ids)),
            self.webhook,
            _seen(content),
            more={
                "pings": _MENTION.findall(content) if allowed.get("parse") else [],
                "content": content,
                "embeds": embeds,
                "pictures": _described(data, files),
                "timestamp": self.now().isoformat(),
            },
        )
        self.accept(made)
        return as_json(self._told(made)) if request.query.get("wait") == "true" else empty()

    def _shown(self, request: Request, webhook: str, token: str) -> Reply:
        if (no := self._problem_with(request, webhook, token)) is not None:
            return no
        told = {"id": webhook, "type": 1, "name": "Acme", "channel_id": "199737254929760256"}
        return as_json(told | {"guild_id": "199737254929760256"})

    def _problem_with(self, request: Request, webhook: str, token: str) -> Reply | None:
        if webhook != self.webhook:
            return as_json({"message": "Unknown Webhook", "code": 10015}, 404)
        return None if token == self.token else self.expired(request)

    def _told(self, message: AcceptedItem) -> dict[str, Any]:
        return {
            "id": message.id,
            "type": 0,
            "content": message.more["content"],
            "channel_id": "199737254929760256",
            "webhook_id": self.webhook,
            "embeds": message.more["embeds"],
            "timestamp": message.more["timestamp"],
        }

    def limited(self, request: Request) -> Reply:
        told = {"message": "You are being rate limited.", "retry_after": 1.337, "global": False}
        headers = {"retry-after": "2", "x-ratelimit-limit": "5", "x-ratelimit-remaining": "0"}
        return as_json(told, 429, headers | {"x-ratelimit-reset-after": "1.337", "x-ratelimit-scope": "user"})

    def expired(self, request: Request) -> Reply:
        return as_json({"message": "Invalid Webhook Token", "code": 50027}, 401)

    def failed(self, request: Request, status: int) -> Reply:
        return as_json({"message": f"{status}: Internal Server Error", "code": 0}, status)

    def unknown(self, request: Request) -> Reply:
        return as_json({"message": "404: Not Found", "code": 0}, 404)


def _seen(content: str) -> str:
    """As readers see it: bold and quoted lines without their marks, items behind bullets."""
    for mark, shown in _LINES:
        content = mark.sub(shown, content)
    return _MARKED.sub(r"\1", content)


def _described(data: dict[str, Any], files: list[Part]) -> list[str]:
    """Alternative texts of the pictures, in their order."""
    texts = {str(each["id"]): each.get("description", "") for each in data.get("attachments", [])}
    return [texts.get(part.name.removeprefix("files[").removesuffix("]"), "") for part in files]


def _invalid(field: str, message: str) -> Reply:
    errors = {field: {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": message}]}}
    return as_json({"message": "Invalid Form Body", "code": 50035, "errors": errors}, 400)


def _webhook(discord: FakeDiscord) -> dict[str, str]:
    return {"url": f"https://discord.com/api/webhooks/{discord.webhook}/{discord.token}"}


CASES: Final = (
    ChannelCase(
        "discord",
        FakeDiscord,
        ("POST *",),
        frozenset({"POST *"}),
        headers=nothing,
        facts=lambda _: {"guild_id": "199737254929760256"},
        credentials=_webhook,
        path=lambda discord: f"/api/webhooks/{discord.webhook}/{discord.token}",
    ),
)
PLACE: Final = EffectPlace("discord", FakeDiscord, _webhook)
