"""Each network answers as its documentation says, in the words that adapters have to understand."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from fakes import Fake, Reply, Request
from fakes.__main__ import made
from fakes.channels.discord import FakeDiscord
from fakes.channels.instagram import FakeInstagram
from fakes.channels.linkedin import FakeLinkedIn
from fakes.channels.slack import FakeSlack
from fakes.channels.telegram import FakeTelegram
from fakes.channels.threads import FakeThreads
from fakes.channels.x import FakeX
from fakes.found import modules

JSON = {"content-type": "application/json"}
LINKEDIN = {
    "authorization": "Bearer linkedin-token",
    "linkedin-version": "202610",
    "x-restli-protocol-version": "2.0.0",
}


def ask(
    fake: Fake, method: str, target: str, data: Any = None, headers: dict[str, str] | None = None
) -> Reply:
    body = b"" if data is None else json.dumps(data).encode()
    return fake.answer(Request.of(method, target, JSON | (headers or {}), body))


def told(reply: Reply) -> Any:
    return json.loads(reply.body)


def test_every_fake_starts_by_its_name() -> None:
    assert {"plain", "x", "linkedin", "instagram", "threads", "telegram", "discord", "slack"} <= set(
        modules()
    )
    for name in modules():
        assert isinstance(made(name), Fake)


def test_x_posts_once_and_tells_what_a_short_address_stands_for() -> None:
    x, key = FakeX(), {"authorization": "Bearer x-token"}
    text = "Brew & drink https://example.org/pour-over"
    first = ask(x, "POST", "/2/tweets", {"text": text}, key)
    again = ask(x, "POST", "/2/tweets", {"text": text}, key)
    assert (first.status, again.status) == (201, 403)
    assert told(again)["detail"] == "You are not allowed to create a Tweet with duplicate content."
    address = f"/2/users/{x.user_id}/tweets?tweet.fields=entities&max_results=5"
    (post,) = told(ask(x, "GET", address, headers=key))["data"]
    assert post["text"].startswith("Brew &amp; drink https://t.co/")
    assert post["entities"]["urls"][0]["expanded_url"] == "https://example.org/pour-over"
    assert ask(x, "GET", address.replace("=5", "=1"), headers=key).status == 400


def test_x_takes_pictures_with_words_for_them_and_says_what_is_wrong() -> None:
    x, key = FakeX(), {"authorization": "Bearer x-token"}
    upload = {"media": "iVBORw0KGgo=", "media_category": "tweet_image", "media_type": "image/png"}
    media = told(ask(x, "POST", "/2/media/upload", upload, key))["data"]["id"]
    metadata = {"id": media, "metadata": {"alt_text": {"text": "A cup"}}}
    assert ask(x, "POST", "/2/media/metadata", metadata, key).status == 200
    ask(x, "POST", "/2/tweets", {"text": "One", "media": {"media_ids": [media]}}, key)
    assert x.accepted[0].more["pictures"] == ["A cup"]
    too_long = ask(x, "POST", "/2/tweets", {"text": "x" * 281}, key)
    assert (too_long.status, told(too_long)["detail"]) == (400, "Your Tweet text is too long.")
    answer = {"text": "Two", "reply": {"in_reply_to_tweet_id": "1"}}
    assert ask(x, "POST", "/2/tweets", answer, key).status == 400
    x.credits_left = 0
    assert ask(x, "POST", "/2/tweets", {"text": "Three"}, key).status == 402
    assert ask(x, "POST", "/2/tweets", {"text": "Three"}).status == 401
    limited = x.limited(Request("POST", "/2/tweets"))
    assert (limited.status, limited.headers["x-rate-limit-remaining"]) == (429, "0")


def linkedin_post(author: str, commentary: str) -> dict[str, Any]:
    return {
        "author": author,
        "commentary": commentary,
        "visibility": "PUBLIC",
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": False,
    }


def test_linkedin_has_the_id_in_a_header_and_names_what_a_post_repeats() -> None:
    linkedin = FakeLinkedIn()
    post = linkedin_post(linkedin.author, r"Hot \(93 °C\) and (lost)")
    first = ask(linkedin, "POST", "/rest/posts", post, LINKEDIN)
    again = ask(linkedin, "POST", "/rest/posts", post, LINKEDIN)
    assert (first.status, first.body, linkedin.accepted[0].text) == (201, b"", "Hot (93 °C) and ")
    assert (again.status, told(again)["errorDetails"]["inputErrors"][0]["code"]) == (422, "DUPLICATE_POST")
    assert first.headers["x-restli-id"] in told(again)["message"]
    finder = LINKEDIN | {"x-restli-method": "FINDER"}
    target = f"/rest/posts?q=author&author={quote(linkedin.author, safe='')}&count=5"
    (found,) = told(ask(linkedin, "GET", target, headers=finder))["elements"]
    assert found["commentary"] == post["commentary"]


def test_linkedin_comments_uploads_and_refusals() -> None:
    linkedin = FakeLinkedIn(author="urn:li:person:782bbtaQ")
    created = ask(linkedin, "POST", "/rest/posts", linkedin_post(linkedin.author, "One"), LINKEDIN)
    urn = quote(created.headers["x-restli-id"], safe="")
    comment = {"actor": linkedin.author, "message": {"text": "https://example.org/"}}
    assert ask(linkedin, "POST", f"/rest/socialActions/{urn}/comments", comment, LINKEDIN).status == 201
    assert ask(linkedin, "GET", f"/rest/socialActions/{urn}/comments", headers=LINKEDIN).status == 403
    asked = {"initializeUploadRequest": {"owner": linkedin.author}}
    value = told(ask(linkedin, "POST", "/rest/images?action=initializeUpload", asked, LINKEDIN))["value"]
    picture = linkedin_post(linkedin.author, "Two") | {"content": {"media": {"id": value["image"]}}}
    assert ask(linkedin, "POST", "/rest/posts", picture, LINKEDIN).status == 400
    assert ask(linkedin, "PUT", value["uploadUrl"]).status == 201
    assert ask(linkedin, "POST", "/rest/posts", picture, LINKEDIN).status == 201
    retired = ask(linkedin, "POST", "/rest/posts", picture, LINKEDIN | {"linkedin-version": "202401"})
    assert (retired.status, told(retired)["code"]) == (426, "NONEXISTENT_VERSION")
    assert ask(linkedin, "POST", "/rest/posts", picture).status == 401


def test_instagram_publishes_a_container_that_is_finished_and_only_once() -> None:
    instagram, key = FakeInstagram(), {"authorization": "Bearer instagram-token"}
    me = told(ask(instagram, "GET", "/v24.0/me?fields=user_id", headers=key))["user_id"]
    png = {"image_url": "https://example.org/cover.png", "caption": "Brew"}
    assert told(ask(instagram, "POST", f"/v24.0/{me}/media", png, key))["error"]["error_subcode"] == 2207005
    jpeg = {"image_url": "https://example.org/cover.jpg", "caption": "Brew", "alt_text": "A cup"}
    container = told(ask(instagram, "POST", f"/v24.0/{me}/media", jpeg, key))["id"]
    publish = f"/v24.0/{me}/media_publish?creation_id={container}"
    early = told(ask(instagram, "POST", publish, headers=key))["error"]
    assert (early["code"], early["error_subcode"]) == (9007, 2207027)
    status = f"/v24.0/{container}?fields=status_code"
    assert told(ask(instagram, "GET", status, headers=key))["status_code"] == "FINISHED"
    post = told(ask(instagram, "POST", publish, headers=key))["id"]
    assert told(ask(instagram, "GET", status, headers=key))["status_code"] == "PUBLISHED"
    assert ask(instagram, "POST", publish, headers=key).status == 400
    (listed,) = told(ask(instagram, "GET", f"/v24.0/{me}/media?fields=id,caption,permalink", headers=key))[
        "data"
    ]
    assert (listed["id"], listed["caption"], len(instagram.accepted)) == (post, "Brew", 1)
    refused = ask(instagram, "GET", status)
    assert (refused.status, told(refused)["error"]["code"]) == (401, 190)


def test_threads_has_text_at_once_and_answers_as_posts_of_their_own() -> None:
    threads, key = FakeThreads(), {"authorization": "Bearer threads-token"}
    text = {"media_type": "TEXT", "text": "Brew"}
    container = told(ask(threads, "POST", "/v1.0/me/threads", text, key))["id"]
    post = told(ask(threads, "POST", "/v1.0/me/threads_publish", {"creation_id": container}, key))["id"]
    answer = {"media_type": "TEXT", "text": "https://example.org/", "reply_to_id": post}
    container = told(ask(threads, "POST", "/v1.0/me/threads", answer, key))["id"]
    ask(threads, "POST", "/v1.0/me/threads_publish", {"creation_id": container}, key)
    assert told(ask(threads, "GET", f"/v1.0/{container}?fields=status", headers=key))["status"] == "PUBLISHED"
    assert [each.kind for each in threads.accepted] == ["post", "comment"]
    (listed,) = told(ask(threads, "GET", "/v1.0/me/threads?fields=id,text", headers=key))["data"]
    assert listed == {"id": post, "text": "Brew"}
    picture = {"media_type": "IMAGE", "image_url": "https://example.org/cover.png"}
    container = told(ask(threads, "POST", "/v1.0/me/threads", picture, key))["id"]
    early = told(ask(threads, "POST", "/v1.0/me/threads_publish", {"creation_id": container}, key))["error"]
    assert (early["code"], early["error_subcode"]) == (24, 4279009)
    long = {"media_type": "TEXT", "text": "x" * 501}
    assert ask(threads, "POST", "/v1.0/me/threads", long, key).status == 400


def test_telegram_counts_what_is_read_and_not_what_is_sent() -> None:
    telegram = FakeTelegram()
    path = f"/bot{telegram.token}/sendMessage"
    message = {"chat_id": telegram.chat, "parse_mode": "HTML", "text": "<b>Brew</b> &amp; " + "x" * 4080}
    sent = ask(telegram, "POST", path, message)
    assert (sent.status, telegram.accepted[0].text[:7]) == (200, "Brew & ")
    assert told(ask(telegram, "POST", path, message | {"text": "x" * 4097}))["description"].endswith(
        "too long"
    )
    assert (
        "Unsupported start tag"
        in told(ask(telegram, "POST", path, message | {"text": "a<c>"}))["description"]
    )
    assert ask(telegram, "POST", path, message | {"chat_id": "@other"}).status == 400
    assert ask(telegram, "POST", "/bot1:other/sendMessage", message).status == 401
    assert told(telegram.limited(Request("POST", path)))["parameters"] == {"retry_after": 3}


@pytest.mark.parametrize(("allowed", "pings"), [({"parse": []}, []), (None, ["@everyone"])])
def test_discord_calls_everyone_unless_told_not_to(allowed: dict[str, Any] | None, pings: list[str]) -> None:
    discord = FakeDiscord()
    path = f"/api/webhooks/{discord.webhook}/{discord.token}"
    message = {"content": "Hello @everyone"} | ({} if allowed is None else {"allowed_mentions": allowed})
    sent = ask(discord, "POST", f"{path}?wait=true", message)
    assert discord.accepted[0].more["pings"] == pings
    assert told(ask(discord, "GET", f"{path}/messages/{told(sent)['id']}"))["content"] == "Hello @everyone"
    assert ask(discord, "POST", path, message).status == 204
    assert told(ask(discord, "POST", path, {"content": "x" * 2001}))["code"] == 50035
    assert ask(discord, "POST", "/api/webhooks/1/2", message).status == 404


def test_slack_says_ok_and_nothing_else() -> None:
    slack = FakeSlack()
    path = f"/services/{slack.path}"
    assert ask(slack, "POST", path, {"text": "Brew &lt;!here&gt; <https://example.org/|read>"}).body == b"ok"
    assert (slack.accepted[0].text, slack.accepted[0].more["pings"]) == ("Brew <!here> read", [])
    ask(slack, "POST", path, {"text": "<!here>"})
    assert slack.accepted[1].more["pings"] == ["!here"]
    assert ask(slack, "POST", path, {"text": ""}).body == b"no_text"
    assert ask(slack, "POST", path, {"blocks": [{"type": "section"}]}).body == b"invalid_blocks"
    assert ask(slack, "POST", "/services/T/B/x", {"text": "a"}).status == 404
    slack.is_archived = True
    assert ask(slack, "POST", path, {"text": "a"}).status == 410
