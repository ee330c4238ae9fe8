"""Special rules of Telegram, Discord and Slack: markup, previews, pictures, and the address of a message."""

from typing import Any

import pytest

from fakes import AcceptedItem, Reply, Request, as_text
from fakes.channels.discord import FakeDiscord
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.found import CASES
from fakes.serving.cases import ChannelCase
from receipts import EffectPerformed, EffectRefused
from services.social.tests.channels.conftest import LINK, NOW, PICTURE, Sent, World, composed
from social.channels import CHANNELS
from social.channels.discord import escaped

BY_NAME = {case.name: case for case in CASES}
TELEGRAM, DISCORD, SLACK = BY_NAME["telegram"], BY_NAME["discord"], BY_NAME["slack"]


def only(sent: Sent) -> AcceptedItem:
    (accepted,) = sent.fake.accepted
    return accepted


def prepared(case: ChannelCase, text: str | None = None, **changes: Any) -> Any:
    sending = CHANNELS[case.channel].sending
    assert sending is not None
    return sending.prepare(composed(case, text, **changes), NOW)


# -- Telegram ------------------------------------------------------------------------------------------------------------


def test_telegram_has_the_headline_in_bold_and_shows_the_link() -> None:
    message = prepared(TELEGRAM)
    assert message["method"] == "sendMessage"
    assert message["json"]["text"].startswith(
        "<b>Pour-over coffee</b>\n\nWater just off the boil (93 °C) &amp; 30 g"
    )
    assert message["json"]["link_preview_options"] == {"url": LINK, "prefer_large_media": True}


def test_telegram_has_a_picture_where_there_is_no_link_and_room_below_it() -> None:
    shown = prepared(TELEGRAM, "Brew", placement="none")
    assert (shown["method"], shown["json"]["photo"]) == ("sendPhoto", PICTURE.url)
    assert prepared(TELEGRAM, "x" * 1025, placement="none")["method"] == "sendMessage"


async def test_a_private_channel_of_telegram_has_an_address_for_its_members(world: World) -> None:
    class Private(FakeTelegram):
        def _chat(self) -> dict[str, Any]:
            return {"id": -1001234567890, "type": "channel", "title": "Acme"}

    sent = await world.send(TELEGRAM, fake=Private())
    assert isinstance(sent.result, EffectPerformed)
    assert sent.result.remote["url"] == f"https://t.me/c/1234567890/{only(sent).id}"


@pytest.mark.parametrize(
    ("member", "chat", "reason"), [(False, "@acme_coffee", "forbidden"), (True, "@b", "no_chat")]
)
async def test_telegram_says_what_the_bot_lacks(member: bool, chat: str, reason: str, world: World) -> None:
    telegram = FakeTelegram(chat="@acme_coffee")
    telegram.is_member = member

    class Elsewhere(FakeTelegram):
        def answer(self, request: Request) -> Reply:
            telegram.chat = chat
            return telegram.answer(request)

    sent = await world.send(TELEGRAM, fake=Elsewhere())
    assert isinstance(sent.result, EffectRefused)
    assert sent.result.reason == reason


# -- Discord -------------------------------------------------------------------------------------------------------------


async def test_discord_has_the_picture_with_words_and_the_address_of_the_message(world: World) -> None:
    sent = await world.send(DISCORD)
    assert isinstance(sent.result, EffectPerformed)
    assert only(sent).more["pictures"] == [PICTURE.alt]
    guild = "199737254929760256"
    assert sent.result.remote["url"] == f"https://discord.com/channels/{guild}/{guild}/{only(sent).id}"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("snake_case https://example.org/a_b*c", r"snake\_case https://example.org/a_b*c"),
        ("# not a heading\n> nor a quotation", "\\# not a heading\n\\> nor a quotation"),
        ("#Coffee is 3 > 2", "#Coffee is 3 > 2"),
        ("[masked](https://example.org/)", r"\[masked](https://example.org/)"),
        ("<@123> <t:0> ||secret||", r"\<@123> \<t:0> \|\|secret\|\|"),
    ],
)
def test_discord_takes_nothing_for_markup(text: str, sent: str) -> None:
    assert escaped(text) == sent
    assert CHANNELS["discord"].limits[0].count(text) == len(sent)


async def test_a_webhook_without_a_server_has_no_address_to_tell(world: World) -> None:
    case = ChannelCase(**{**vars(DISCORD), "facts": lambda _: {}})
    sent = await world.send(case, fake=FakeDiscord())
    assert isinstance(sent.result, EffectPerformed)
    assert "url" not in sent.result.remote


# -- Slack ---------------------------------------------------------------------------------------------------------------


async def test_slack_has_the_picture_with_words_and_says_the_text_in_notifications(world: World) -> None:
    sent = await world.send(SLACK)
    assert only(sent).more["pictures"] == [PICTURE.alt]
    assert "(93 °C) &amp; 30 g" in only(sent).more["notification"]


async def test_a_picture_that_slack_cannot_fetch_keeps_no_post(world: World) -> None:
    class Fetching(FakeSlack):
        def answer(self, request: Request) -> Reply:
            asked = request.json()
            if any(block["type"] == "image" for block in asked["blocks"]):
                return as_text("invalid_blocks", 400)
            return super().answer(request)

    sent = await world.send(SLACK, fake=Fetching())
    assert isinstance(sent.result, EffectPerformed)
    assert only(sent).more["pictures"] == []


def test_slack_is_told_what_is_text_and_what_a_link() -> None:
    (block,) = prepared(SLACK)["blocks"]
    (section,) = block["elements"]
    headline, *texts, link = section["elements"]
    assert headline == {"type": "text", "text": "Pour-over coffee", "style": {"bold": True}}
    assert "".join(text["text"] for text in texts).startswith("\n\nWater just off the boil (93 °C) & 30 g")
    assert link == {"type": "link", "url": LINK}


QUOTING = f"""\
Pour-over coffee

“Water at 93 °C & patience.”
— Pouring

• Rinse <the> filter.
• Grind_it.

{LINK}"""


def test_each_chat_has_its_own_formatting_for_headline_quotation_and_list() -> None:
    assert prepared(TELEGRAM, QUOTING)["json"]["text"] == (
        "<b>Pour-over coffee</b>\n\n<blockquote>“Water at 93 °C &amp; patience.”</blockquote>\n— Pouring\n\n"
        f"• Rinse &lt;the&gt; filter.\n• Grind_it.\n\n{LINK}"
    )
    assert prepared(DISCORD, QUOTING)["content"] == (
        "**Pour-over coffee**\n\n> “Water at 93 °C & patience.”\n— Pouring\n\n"
        f"- Rinse \\<the> filter.\n- Grind\\_it.\n\n{LINK}"
    )
    (block,) = prepared(SLACK, QUOTING)["blocks"]
    assert [each["type"] for each in block["elements"]] == [
        "rich_text_section",
        "rich_text_quote",
        "rich_text_section",
        "rich_text_list",
        "rich_text_section",
    ]
    items = block["elements"][3]["elements"]
    assert [item["elements"] for item in items] == [
        [{"type": "text", "text": "Rinse <the> filter."}],
        [{"type": "text", "text": "Grind_it."}],
    ]


def test_a_headline_of_discord_loses_its_marks_rather_than_the_text_its_end() -> None:
    text = f"Pour-over coffee\n\n{'x' * 1982}"
    assert CHANNELS["discord"].limits[0].holds(text)
    assert prepared(DISCORD, text)["content"] == text
