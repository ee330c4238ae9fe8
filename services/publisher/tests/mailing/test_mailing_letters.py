"""Subscribing, confirming, letters and leaving, with a real gateway and a real mail server; and what goes wrong on the way."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest
import structlog

from publisher import store
from publisher.domain import BrandSlug, PageSlug
from publisher.erasure import _remove
from publisher.mailing import store as mailing_store
from services.publisher.tests.mailing.conftest import API, KEY, ORIGIN, PAGE, Newsletter, link_in


async def test_a_reader_subscribes_gets_each_new_article_once_and_leaves_with_one_click(
    newsletter: Newsletter,
) -> None:
    front = await newsletter.client.get("/sites/daily-grind/")
    assert f'href="{PAGE}"' in front.text
    form = await newsletter.client.get(PAGE)
    assert ("<script" in form.text, "form-action 'self'" in form.headers["Content-Security-Policy"]) == (
        False,
        True,
    )
    assert (await newsletter.sign_up("ada@a.example")).headers["location"] == f"{PAGE}sent"
    assert (await newsletter.client.get(f"{PAGE}sent")).status_code == 200
    assert await newsletter.sender.send_due() == 1
    (mail,) = newsletter.mail.mails()
    assert (mail["To"], mail["Subject"]) == ("ada@a.example", "Confirm your subscription to The Daily Grind")
    confirm = link_in(mail.get_content())
    # Mail programs open links: that alone confirms nothing.
    assert "<button" in (await newsletter.client.get(confirm)).text
    assert (await newsletter.state())["subscribers"] == 0
    for _ in range(2):
        assert "You have subscribed" in (await newsletter.client.post(confirm)).text
    assert (await newsletter.state())["subscribers"] == 1

    article = {"content_id": str(uuid4()), "slug": "cold-brew", "title": "Cold <b> brew"}
    await newsletter.publish(**article)
    assert await newsletter.sender.send_due() == 1
    # Published again, and sent again by another replica: there is nothing to send.
    await newsletter.publish(**article)
    assert await newsletter.sender.send_due() == 0
    letter = newsletter.mail.mails()[1]
    assert letter["Subject"] == "Cold <b> brew"
    leave = letter["List-Unsubscribe"].strip("<>")
    assert leave.startswith(f"{ORIGIN}{PAGE}leave/")
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    plain, html = letter.get_body(("plain",)), letter.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert leave in plain.get_content()
    assert f"{ORIGIN}/sites/daily-grind/cold-brew" in plain.get_content()
    assert f'href="{leave}"' in html.get_content()
    assert "Cold &lt;b&gt; brew" in html.get_content()

    path = leave.removeprefix(ORIGIN)
    assert "<button" in (await newsletter.client.get(path)).text
    assert (await newsletter.state())["subscribers"] == 1
    one_click = {"content": "List-Unsubscribe=One-Click", "headers": {"Sec-Fetch-Site": "cross-site"}}
    for _ in range(2):
        assert (await newsletter.client.post(path, **one_click)).status_code == 200  # type: ignore[arg-type]
    state = await newsletter.state()
    assert (state["subscribers"], state["ended"]) == (0, 1)
    assert [
        tuple(row) for row in await newsletter.rows("select address, state from newsletter_subscribers")
    ] == [(None, "left")]
    # The link that confirmed once does not subscribe again.
    assert (await newsletter.client.post(confirm)).status_code == 404
    await newsletter.publish(slug="kettles", title="Kettles")
    assert await newsletter.sender.send_due() == 0
    # The link in old letters works also after the newsletter is off.
    assert (await newsletter.api("DELETE")).status_code == 204
    assert (await newsletter.client.post(path)).status_code == 200
    assert (await newsletter.client.get(PAGE)).status_code == 404


async def test_a_stranger_can_bomb_nobody_and_learns_nothing(newsletter: Newsletter) -> None:
    await newsletter.subscribe("ada@a.example")
    first, known, again, plus = [
        await newsletter.sign_up(each)
        for each in ("bob@b.example", "Ada@a.example", "BOB@b.example", "bob+x@b.example")
    ]
    for answer in (known, again, plus):
        assert (answer.status_code, answer.headers["location"], answer.content) == (
            first.status_code,
            first.headers["location"],
            first.content,
        )
    assert await newsletter.sender.send_due() == 1
    assert [mail["To"] for mail in newsletter.mail.mails()] == ["bob@b.example"]
    refused = await newsletter.sign_up("eve@e.example", **{"Sec-Fetch-Site": "cross-site"})
    assert refused.status_code == 403
    assert (await newsletter.sign_up("no address <b>")).status_code == 422
    assert (await newsletter.client.post(PAGE, content=b"address=" + b"x" * 9_000)).status_code == 413
    answers = [await newsletter.sign_up(f"r{number}@r.example") for number in range(6)]
    assert [each.status_code for each in answers] == [303] * 5 + [429]
    # The bound says nothing of an address either.
    assert (await newsletter.sign_up("ada@a.example")).status_code == 429
    for word in ("x", "A" * 46, "../leave"):
        assert (await newsletter.client.post(f"{PAGE}confirm/{word}")).status_code in {404, 405}


async def test_a_mail_server_that_is_away_for_an_hour_gets_each_letter_once(newsletter: Newsletter) -> None:
    await newsletter.subscribe("ada@a.example")
    newsletter.mail.close()
    await newsletter.publish(slug="cold-brew")
    for _ in range(3):
        assert await newsletter.sender.send_due() == 0
        await newsletter.later()
    assert "127.0.0.1" in (await newsletter.state())["problem"]
    (letter,) = (await newsletter.api("GET", "/letters")).json()["items"]
    assert (letter["waiting"], letter["sent"], letter["in_doubt"]) == (1, 0, 0)
    await newsletter.mail.listen()
    sent = await asyncio.gather(*(newsletter.sender.send_due() for _ in range(3)))
    assert (sum(sent), len(newsletter.mail.taken)) == (1, 1)
    (letter,) = (await newsletter.api("GET", "/letters")).json()["items"]
    assert (letter["waiting"], letter["sent"]) == (0, 1)
    assert (await newsletter.state())["problem"] == ""


async def test_what_may_have_arrived_is_not_sent_again_by_itself(newsletter: Newsletter) -> None:
    await newsletter.subscribe("ada@a.example")
    newsletter.mail.end_of_data = None
    await newsletter.publish(slug="cold-brew")
    await newsletter.sender.send_due()
    newsletter.mail.end_of_data = "250 taken"
    await newsletter.later()
    assert await newsletter.sender.send_due() == 0
    (letter,) = (await newsletter.api("GET", "/letters")).json()["items"]
    assert (letter["in_doubt"], len(newsletter.mail.taken)) == (1, 1)
    again = await newsletter.api("POST", f"/letters/{letter['content_id']}/again")
    assert again.json() == {"subscribers": 1}
    assert await newsletter.sender.send_due() == 1
    first, second = newsletter.mail.mails()
    assert first["Message-ID"] == second["Message-ID"]

    # A process that is lost while it sends leaves the same doubt.
    await newsletter.publish(slug="kettles")
    async with newsletter.database.transaction() as tx:
        await mailing_store.address_letters(tx.connection)
        assert await mailing_store.claim(tx.connection, -mailing_store.CONFIRM_WITHIN) is not None
    assert await newsletter.sender.send_due() == 0
    assert (await newsletter.api("GET", "/letters")).json()["items"][0]["in_doubt"] == 1


@pytest.mark.extended
async def test_addresses_that_are_refused_end_after_some_letters_and_others_are_tried_again(
    newsletter: Newsletter,
) -> None:
    await newsletter.subscribe("gone@a.example")
    await newsletter.subscribe("full@a.example")
    newsletter.mail.refused = {
        "gone@a.example": "550 5.1.1 <gone@a.example> no such user",
        "full@a.example": "452 4.2.2 full",
        "new@a.example": "550 5.1.1 no such user",
    }
    for number in range(3):
        assert (await newsletter.state())["subscribers"] == 2
        await newsletter.publish(slug=f"cold-brew-{number}")
        await newsletter.sender.send_due()
    state = await newsletter.state()
    assert (state["subscribers"], state["ended"]) == (1, 1)
    reasons = {row["reason"] for row in await newsletter.rows("select reason from newsletter_deliveries")}
    assert any("no such user" in each for each in reasons)
    assert "@" not in " ".join(reasons)
    newsletter.mail.refused.pop("full@a.example")
    await newsletter.later()
    assert await newsletter.sender.send_due() == 3
    await newsletter.sign_up("new@a.example")
    await newsletter.sender.send_due()
    assert (await newsletter.state())["pending"] == 0
    # A server that refuses us says nothing about the address.
    newsletter.mail.refused = {"full@a.example": "550 5.7.1 we do not know you"}
    for number in range(4):
        await newsletter.publish(slug=f"kettles-{number}")
        await newsletter.sender.send_due()
    assert (await newsletter.state())["subscribers"] == 1


async def test_only_who_operates_sees_addresses_and_they_go_with_the_brand(newsletter: Newsletter) -> None:
    with structlog.testing.capture_logs() as logs:
        for address in ("ada@a.example", "bob@b.example"):
            await newsletter.subscribe(address)
        await newsletter.publish(slug="cold-brew")
        await newsletter.sender.send_due()
    assert "a.example" not in str(logs)
    page = (await newsletter.api("GET", "/subscribers?limit=1")).json()
    rest = (await newsletter.api("GET", f"/subscribers?after={page['next']}")).json()
    listed = [*page["items"], *rest["items"]]
    assert (sorted(each["address"] for each in listed), rest["next"]) == (
        ["ada@a.example", "bob@b.example"],
        None,
    )
    removed = [await newsletter.api("DELETE", f"/subscribers/{listed[0]['id']}") for _ in range(2)]
    assert [each.status_code for each in removed] == [200, 404]
    for path in ("", "/subscribers", "/letters"):
        assert (await newsletter.client.get(f"{API}{path}")).status_code == 401
    async with newsletter.database.transaction() as tx:
        await _remove(tx.connection, "daily-grind")
    for table in (
        "newsletters",
        "newsletter_subscribers",
        "newsletter_sign_ups",
        "newsletter_letters",
        "newsletter_deliveries",
    ):
        assert await newsletter.rows(f"select from {table}") == [], table


async def test_a_page_that_is_taken_down_in_time_gets_no_letter(newsletter: Newsletter) -> None:
    await newsletter.subscribe("ada@a.example")
    made = newsletter.publication(slug="cold-brew")
    async with newsletter.database.transaction() as tx:
        await store.publish(tx.connection, made)
    assert await newsletter.sender.send_due() == 0
    async with newsletter.database.transaction() as tx:
        assert await store.take_down(tx.connection, made.article)
        await tx.connection.execute("update newsletter_letters set due_at = clock_timestamp()")
        assert await store.page(tx.connection, BrandSlug("daily-grind"), PageSlug("cold-brew")) is not None
    assert await newsletter.sender.send_due() == 0
    assert newsletter.mail.taken == []


async def test_without_a_mail_server_it_cannot_be_turned_on(newsletter: Newsletter) -> None:
    headers = {"X-Service-Key": KEY}
    refused = await newsletter.client.put("/v1/brands/other/newsletter", json={}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "no_mail_account")
    assert "brandctl accounts connect smtp" in refused.json()["detail"]
    wrong = await newsletter.api("PUT", account="unknown")
    assert wrong.status_code == 409
    state = await newsletter.state()
    assert (state["account"], state["is_on"]) == ("post", True)
    assert [each["name"] for each in state["mail_accounts"]] == ["post"]


@pytest.mark.extended
@pytest.mark.parametrize("language", ["de", "de-AT"])
async def test_readers_are_told_in_the_language_of_the_brand(newsletter: Newsletter, language: str) -> None:
    brand: dict[str, Any] = {
        "slug": "daily-grind",
        "name": "Tagwerk",
        "description": "",
        "language": language,
    }
    await newsletter.publish(slug="kaffee", brand=brand)
    form: httpx.Response = await newsletter.client.get(PAGE)
    assert "Ihre E-Mail-Adresse" in form.text
    await newsletter.sign_up("ada@a.example")
    await newsletter.sender.send_due()
    assert newsletter.mail.mails()[0]["Subject"] == "Bestätigen Sie Ihr Abonnement von Tagwerk"
