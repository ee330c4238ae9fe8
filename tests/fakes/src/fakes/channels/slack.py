"""Slack: an incoming webhook of one channel, `hooks.slack.com/services/T…/B…/…`.

Documented: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
https://docs.slack.dev/messaging/formatting-message-text (escaping, mentions), https://docs.slack.dev/apis/web-api/rate-limits
"""

import re
from collections.abc import Callable
from typing import Any, Final

from fakes.serving.cases import ChannelCase, EffectPlace, nothing
from fakes.serving.exchange import Reply, Request, as_text
from fakes.serving.fake import AcceptedItem, Fake, route

_MOST_TEXT: Final = 40_000
_MOST_BLOCKS: Final = 50
_MOST_SECTION: Final = 3000
_MOST_HEADER: Final = 150
_CALL: Final = re.compile(r"<(![^>]+|@[^>]+|#[^>]+)>")
_LINK: Final = re.compile(r"<(https?://[^>|]+)(?:\|([^>]*))?>")


class FakeSlack(Fake):
    """`more["pings"]` of an accepted item: the people that it notified. There are no ids and no look-ups."""

    def __init__(self, path: str = "T00000000/B00000000/slackTokenOfTheFake") -> None:
        super().__init__()
        self.path = path
        self.is_archived = False
        self.can_fetch: Callable[[str], bool] = lambda _: True
        """Whether a picture can be fetched from an address."""

    @route("POST", "/services/{team}/{hook}/{token}")
    def post(self, request: Request, team: str, hook: str, token: str) -> Reply:
        if f"{team}/{hook}/{token}" != self.path:
            return as_text("no_service", 404)
        if self.is_archived:
            return as_text("channel_is_archived", 410)
        try:
            data = request.json()
        except ValueError:
            return as_text("invalid_payload", 400)
        text, blocks = data.get("text", ""), data.get("blocks", [])
        if not text and not blocks:
            return as_text("no_text", 400)
        if len(text) > _MOST_TEXT:
            return as_text("msg_too_long", 400)
        if not all(map(_is_valid, blocks)) or len(blocks) > _MOST_BLOCKS:
            return as_text("invalid_blocks", 400)
        if not all(self.can_fetch(each["image_url"]) for each in blocks if each["type"] == "image"):
            return as_text("invalid_blocks", 400)
        sections = "\n\n".join(each["text"]["text"] for each in blocks if each["type"] == "section")
        rich = "".join(map(_rich, blocks))
        pictures = [each["alt_text"] for each in blocks if each["type"] == "image"]
        shown = sections or text
        more = {"pings": [] if rich else _CALL.findall(shown), "pictures": pictures, "notification": text}
        said = rich or _seen(shown)
        self.accept(AcceptedItem(str(len(self.accepted) + 1), "acme", said, more=more))
        return as_text("ok")

    def limited(self, request: Request) -> Reply:
        return as_text("rate_limited", 429, {"retry-after": "1"})

    def expired(self, request: Request) -> Reply:
        return as_text("no_service", 404)

    def failed(self, request: Request, status: int) -> Reply:
        return as_text("rollup_error", status)

    def unknown(self, request: Request) -> Reply:
        return as_text("no_service", 404)


def _is_valid(block: dict[str, Any]) -> bool:
    match block:
        case {"type": "header", "text": {"type": "plain_text", "text": str(text)}}:
            return 0 < len(text) <= _MOST_HEADER
        case {"type": "section", "text": {"type": "mrkdwn", "text": str(text)}}:
            return 0 < len(text) <= _MOST_SECTION
        case {"type": "image", "image_url": str(), "alt_text": str(alt)}:
            return bool(alt)
        case {"type": "rich_text", "elements": [*elements]}:
            return bool(elements) and all(map(_is_element, elements))
    return False


def _is_element(element: dict[str, Any]) -> bool:
    match element:
        case {"type": "rich_text_list", "style": "bullet" | "ordered", "elements": [*items]}:
            return bool(items) and all(map(_is_element, items))
        case {"type": "rich_text_section" | "rich_text_quote", "elements": [*parts]}:
            return bool(parts) and all(part.get("text") or part.get("url") for part in parts)
    return False


def _rich(block: dict[str, Any]) -> str:
    """Nothing in it is markup."""
    if block["type"] != "rich_text":
        return ""
    return "\n".join(map(_text, block["elements"]))


def _text(element: dict[str, Any]) -> str:
    """Each item of a list has a line of its own."""
    if element["type"] == "rich_text_list":
        return "\n".join(map(_text, element["elements"]))
    return "".join(each["text"] if each["type"] == "text" else each["url"] for each in element["elements"])


def _seen(text: str) -> str:
    """As readers see it: links by their labels, entities resolved."""
    text = _LINK.sub(lambda found: found[2] or found[1], text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _webhook(slack: FakeSlack) -> dict[str, str]:
    return {"url": f"https://hooks.slack.com/services/{slack.path}"}


CASES: Final = (
    ChannelCase(
        "slack",
        FakeSlack,
        ("POST *",),
        frozenset({"POST *"}),
        headers=nothing,
        path=lambda slack: f"/services/{slack.path}",
        credentials=_webhook,
    ),
)
PLACE: Final = EffectPlace("slack", FakeSlack, _webhook)
