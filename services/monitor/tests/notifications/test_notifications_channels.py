"""How a message reads in each kind of account: within its bounds, without mentions or markup."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from monitor.notifications.channels import CHANNELS, Mail, ProviderRequest
from monitor.notifications.message import Message

HOSTILE = "<b>@everyone <!channel> <@U1> &amp; [x](http://evil) `*_~|\\\r\nBcc: a@b"


def message(lines: int = 1, text: str = HOSTILE, paragraphs: tuple[str, ...] = ()) -> Message:
    item = {
        "id": str(UUID(int=1)), "about": "new", "kind": "dead_letters", "severity": "critical", "brand": "acme",
        "title": text, "detail": text, "command": f"brandctl {text}", "link": "https://monitor.example/?a=1&b=2", "count": 3,
    }  # fmt: skip
    content = {"title": text, "paragraphs": list(paragraphs), "items": [item] * lines, "more": 4, "told": []}
    return Message.of(UUID(int=7), datetime(2026, 3, 4, tzinfo=UTC), "news", content)


def asked(kind: str, told: Message, *addresses: str) -> ProviderRequest:
    form = CHANNELS[kind].form(told, addresses)
    assert isinstance(form, ProviderRequest)
    return form


class Tags(HTMLParser):
    """Which tags there are, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("lines", [1, 3, 20])
@pytest.mark.parametrize("text", [HOSTILE, "x" * 5000, "🦊&" * 2000])
def test_a_chat_of_telegram(lines: int, text: str) -> None:
    ask = asked("telegram", message(lines, text, (text,)), "-100")
    tags = Tags(ask.json["text"])
    assert (tags.open, tags.seen) == ([], {"b", "code"})
    assert len(ask.json["text"].encode("utf-16-le")) // 2 <= 2 * 4096
    assert len(re.sub(r"<[^>]+>|&\w+;", "", ask.json["text"])) <= 4096
    assert (ask.path, ask.json["chat_id"], ask.json["parse_mode"]) == ("/sendMessage", "-100", "HTML")
    assert "brandctl notifications list" in ask.json["text"]


@pytest.mark.parametrize("lines", [1, 20])
@pytest.mark.parametrize("text", [HOSTILE, "&" * 5000])
def test_blocks_of_slack(lines: int, text: str) -> None:
    ask = asked("slack", message(lines, text, (text,)))
    blocks = ask.json["blocks"]
    assert len(blocks) <= 50
    assert len(blocks[0]["text"]["text"]) <= 150
    for block in blocks[1:]:
        assert len(block["text"]["text"]) <= 3000
        assert not re.search(r"<|>|&(?!amp;|lt;|gt;)", block["text"]["text"])


@pytest.mark.parametrize("lines", [1, 20])
@pytest.mark.parametrize("text", [HOSTILE, "*" * 5000])
def test_embeds_of_discord(lines: int, text: str) -> None:
    ask = asked("discord", message(lines, text, (text,)))
    embeds = ask.json["embeds"]
    assert (ask.query, ask.json["allowed_mentions"]) == ({"wait": "true"}, {"parse": []})
    assert len(embeds) <= 10
    assert len(ask.json["content"]) <= 2000
    assert sum(len(each.get("title", "")) + len(each.get("description", "")) for each in embeds) <= 6000
    assert all(len(each.get("title", "")) <= 256 for each in embeds)


def test_a_webhook_is_the_same_in_every_attempt() -> None:
    first, again = asked("webhook", message()), asked("webhook", message())
    assert first == again
    assert first.headers == {"webhook-id": f"msg_{UUID(int=7)}"}
    assert first.json["type"] == "notification.news"
    assert json.loads(json.dumps(first.json))["data"]["items"][0]["count"] == 3


def test_mail_says_it_in_text_and_in_html() -> None:
    mail = CHANNELS["smtp"].form(message(2, paragraphs=("A & B",)), ("a@example.org", "b@example.org"))
    assert isinstance(mail, Mail)
    assert "\r" not in mail.subject
    assert "\n" not in mail.subject
    assert mail.message_id == f"<{UUID(int=7)}@brand-engine.invalid>"
    assert "A & B" in mail.text
    assert "A &amp; B" in mail.html
    tags = Tags(mail.html.removeprefix("<!doctype html>").replace("<br>", ""))
    assert (tags.open, "script" in tags.seen) == ([], False)
    assert "… and 4 more" in mail.text


def test_every_channel_has_a_row_for_people() -> None:
    page = Path(__file__).parents[4] / "docs" / "notifications.md"
    rows = page.read_text().partition("## Texts of the channels")[2].splitlines()
    assert {row.split("`")[1] for row in rows if row.startswith("| `")} == set(CHANNELS)
