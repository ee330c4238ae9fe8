"""Handing mail in: encrypted unless told otherwise, once, and with word for each address of what became of it."""

import asyncio
from collections.abc import AsyncIterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.gateway.tests.accounts.test_account_sender import certificates
from tests.fixtures.mail_servers import MailServer


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    made = MailServer()
    await made.listen()
    yield made
    made.close()


def account(server: MailServer, **settings: Any) -> dict[str, Any]:
    return {
        "kind": "smtp",
        "brands": ["*"],
        "settings": {
            "host": "127.0.0.1",
            "port": server.port,
            "security": "plain",
            "sender": "Acme <news@acme.example>",
        }
        | settings,
        "credentials": {"user": "acme", "password": "mail-password-recognisable"},
    }


async def send(api: httpx.AsyncClient, *to: str, **more: Any) -> httpx.Response:
    mail = {
        "to": list(to or ("ada@a.example",)),
        "subject": "Drafts wait: über",
        "text": "Two drafts wait.",
        "message_id": "<n-1@acme.example>",
    }
    return await api.post("/v1/accounts/post/mail", json=mail | more)


async def test_mail_is_taken_for_some_and_refused_for_others(
    api: httpx.AsyncClient, server: MailServer
) -> None:
    assert (await api.put("/v1/accounts/post", json=account(server))).status_code == 200
    assert (await api.post("/v1/accounts/post/check")).json()["state"] == "ok"
    server.refused = {"gone@a.example": "550 5.1.1 no such user", "full@a.example": "452 4.2.2 full"}
    answer = await send(
        api, "ada@a.example", "gone@a.example", "full@a.example", html="<p>Two drafts wait.</p>"
    )
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["accepted"] == ["ada@a.example"]
    assert told["refused"]["gone@a.example"].startswith("550")
    assert told["refused"]["full@a.example"].startswith("452")
    mail = message_from_bytes(server.taken[0], policy=default)
    assert (mail["Message-ID"], mail["From"]) == ("<n-1@acme.example>", "Acme <news@acme.example>")
    assert (mail["Subject"], mail["Auto-Submitted"]) == ("Drafts wait: über", "auto-generated")
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert plain.get_content().strip() == "Two drafts wait."
    assert html.get_content().strip() == "<p>Two drafts wait.</p>"

    none = await send(api, "gone@a.example")
    assert (none.status_code, none.json()["type"]) == (422, "mail.no_recipient")
    server.refused["gone@a.example"] = "550 5.7.1 we do not know you"
    policy = await send(api, "gone@a.example")
    assert (policy.status_code, policy.json()["type"]) == (422, "mail.refused")
    later = await send(api, "full@a.example", "gone@a.example")
    assert (later.status_code, later.json()["type"], later.json()["transient"]) == (503, "mail.later", True)
    server.end_of_data = "554 5.3.4 too large"
    assert (await send(api)).json()["type"] == "mail.refused"
    server.end_of_data = "451 4.3.0 later"
    assert (await send(api)).json()["type"] == "mail.later"
    server.end_of_data = None
    unknown = await send(api)
    assert (unknown.status_code, unknown.json()["type"]) == (424, "call.no_answer")


async def test_a_password_that_is_refused_stops_the_account(
    api: httpx.AsyncClient, server: MailServer
) -> None:
    await api.put("/v1/accounts/post", json=account(server))
    server.login = "454 4.7.0 later"
    assert (await send(api)).json()["type"] == "call.not_sent"
    server.login = "535 5.7.8 Authentication failed"
    refused = await send(api)
    assert refused.json()["type"] == "account.needs_reconnecting"
    assert "connect again" in refused.json()["detail"]
    assert not server.taken
    assert (await api.get("/v1/accounts/post")).json()["state"] == "needs_reconnecting"


async def test_nothing_is_told_to_a_server_that_does_not_encrypt(
    api: httpx.AsyncClient, server: MailServer
) -> None:
    await api.put("/v1/accounts/post", json=account(server, security="starttls"))
    refused = await send(api)
    assert (refused.status_code, refused.json()["type"]) == (503, "call.not_sent")
    assert not [line for line in server.commands if line.startswith(("AUTH", "MAIL"))]


async def test_a_private_authority_is_believed_for_its_account_alone(
    api: httpx.AsyncClient, server: MailServer, tmp_path: Path
) -> None:
    encrypted, _ = certificates(tmp_path)
    authority = (tmp_path / "server.pem").read_text().partition("-----END PRIVATE KEY-----\n")[2]
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, ssl=encrypted)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        await api.put("/v1/accounts/post", json=account(server, security="tls"))
        refused = await send(api)
        assert (refused.status_code, "certificate verify failed" in refused.text) == (503, True)
        nonsense = await api.put(
            "/v1/accounts/post", json=account(server, security="tls", authority="own.pem")
        )
        assert (nonsense.status_code, "PEM file" in nonsense.text) == (422, True)
        given = account(server, security="tls", authority=authority)
        assert (await api.put("/v1/accounts/post", json=given)).status_code == 200
        assert (await send(api)).status_code == 200
        assert len(server.taken) == 1
    finally:
        listening.close()


async def test_a_list_is_left_by_one_click_over_https_alone(
    api: httpx.AsyncClient, server: MailServer
) -> None:
    await api.put("/v1/accounts/post", json=account(server))
    for url in ("https://a.example/leave/x", "http://a.example/leave/x"):
        assert (await send(api, unsubscribe_url=url)).status_code == 200
    one_click, link = [message_from_bytes(each, policy=default) for each in server.taken]
    assert one_click["List-Unsubscribe"] == "<https://a.example/leave/x>"
    assert one_click["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (link["List-Unsubscribe"], link["List-Unsubscribe-Post"]) == ("<http://a.example/leave/x>", None)


async def test_headers_cannot_be_slipped_in(api: httpx.AsyncClient, server: MailServer) -> None:
    await api.put("/v1/accounts/post", json=account(server))
    for strange in (
        {"subject": "a\r\nBcc: b@b.example"},
        {"to": ["a@a.example>\r\nBcc: <b@b.example"]},
        {"to": ["a@a.example,b@b.example"]},
        {"message_id": "<a@b>\r\nX: y"},
        {"unsubscribe_url": "https://a.example/x>\r\nBcc: b@b.example"},
        {"unsubscribe_url": "mailto:a@a.example"},
    ):
        assert (await send(api, **strange)).status_code == 422
    assert not server.taken
    wrong = account(server, sender="Acme <news@acme.example>\r\nBcc: b@b.example")
    assert (await api.put("/v1/accounts/other", json=wrong)).status_code == 422
