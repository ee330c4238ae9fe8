"""An owner's invitation goes out through a mail server, over monitor and gateway as they run; else the link is shown."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import asyncpg
import httpx
import pytest

from services.gateway.tests.accounts.test_account_mail import MailServer

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
BOB = {"name": "Bob", "role": "viewer", "address": "bob@acme.example", "language": "de"}


@pytest.fixture
async def mail_server() -> AsyncIterator[MailServer]:
    made = MailServer()
    listening = await asyncio.start_server(made.connected, "127.0.0.1", 0)
    made.port = listening.sockets[0].getsockname()[1]
    yield made
    listening.close()


@pytest.fixture
def connect_mail(service_urls: dict[str, str], mail_server: MailServer) -> Callable[[], Awaitable[None]]:
    async def connect() -> None:
        settings = {
            "host": "127.0.0.1",
            "port": mail_server.port,
            "security": "plain",
            "sender": "Acme <news@acme.example>",
        }
        account = {"kind": "smtp", "brands": ["*"], "settings": settings, "credentials": {}}
        async with httpx.AsyncClient(
            base_url=service_urls["gateway_url"], headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
        ) as gateway:
            answer = await gateway.put("/v1/accounts/post", json=account)
            assert answer.status_code == 200, answer.text

    return connect


async def everything_kept(urls: list[str]) -> str:
    kept = []
    for url in urls:
        connection = await asyncpg.connect(url)
        try:
            for table in await connection.fetch(
                "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
            ):
                kept += [row[0] for row in await connection.fetch(f'select t::text from "{table[0]}" t')]
        finally:
            await connection.close()
    return "\n".join(kept)


@pytest.mark.extended
async def test_the_link_goes_out_by_mail_and_is_good_once(
    console: Any,
    person: httpx.AsyncClient,
    mail_server: MailServer,
    connect_mail: Callable[[], Awaitable[None]],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await connect_mail()
    answers = [await person.post("/people/invite", data=BOB | {"once": "one"}) for _ in range(2)]
    assert answers[0].status_code == 200
    assert "mailed to bob@acme.example" in answers[0].text
    assert "/invitations/" not in answers[0].text.split("<h2>")[0]
    (raw,) = mail_server.taken
    mail = message_from_bytes(raw, policy=default)
    assert isinstance(mail, EmailMessage)
    assert (mail["To"], mail["Subject"]) == ("bob@acme.example", "Ada lädt Sie zu Brand Engine ein")
    body = mail.get_body(("plain",))
    assert body is not None
    found = re.search(r"/invitations/([\w-]+)", body.get_content())
    assert found
    kept = await everything_kept([console.database_url])
    logged = caplog.text + "".join(capsys.readouterr())
    assert found[1] not in kept + logged
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as bob:
        accepted = await bob.post(found[0], data={"name": "Bob", "password": PASSWORD})
        assert accepted.status_code == 303
        assert (await bob.get("/people")).status_code == 403
        again = await bob.post(found[0], data={"name": "Bob", "password": PASSWORD})
        assert again.status_code == 404


async def test_without_a_mail_server_or_while_it_is_away_the_link_is_shown(
    person: httpx.AsyncClient,
    mail_server: MailServer,
    connect_mail: Callable[[], Awaitable[None]],
) -> None:
    async def invite(number: int) -> str:
        answer = await person.post(
            "/people/invite", data=BOB | {"name": f"Bob {number}", "once": f"once-{number}"}
        )
        assert answer.status_code == 200
        assert re.search(r"<code>[^<]*/invitations/[\w-]{43}</code>", answer.text)
        return answer.text

    assert "No mail server is connected" in await invite(1)
    await connect_mail()
    mail_server.refused = {"bob@acme.example": "550 5.1.1 no such <b>user</b>"}
    refused = await invite(2)
    assert "does not take the mail" in refused
    assert "&lt;b&gt;user" in refused
    mail_server.refused = {"bob@acme.example": "451 4.3.0 later"}
    assert "did not answer" in await invite(3)
    assert mail_server.taken == []


@pytest.mark.extended
async def test_an_address_that_is_none_is_refused_and_kept_in_the_form(person: httpx.AsyncClient) -> None:
    for number, address in enumerate(
        ("bob", "bob@acme.example, eve@evil.example", "b@\r\nBcc: e@evil.example")
    ):
        answer = await person.post(
            "/people/invite", data=BOB | {"address": address, "once": f"once-{number}"}
        )
        assert answer.status_code == 422
        assert "This is no mail address" in answer.text
        assert 'value="Bob"' in answer.text


@pytest.mark.extended
async def test_who_is_no_owner_of_all_mails_nothing(
    service_urls: dict[str, str],
    console: Any,
    mail_server: MailServer,
    connect_mail: Callable[[], Awaitable[None]],
    signed_in_as: Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]],
) -> None:
    await connect_mail()
    made = await console.orchestrator.create_key(
        name="operator", scopes=["read", "operate", "repair", "submit", "review"], brands=None, per_minute=600
    )
    mail = {
        "address": "bob@acme.example",
        "url": f"https://console.example/invitations/{'a' * 43}",
        "name": "Bob",
        "inviter": "Eve",
    }
    async with httpx.AsyncClient(
        base_url=service_urls["monitor_url"],
        headers={"Authorization": f"Bearer {made['key']}"},
        trust_env=False,
        timeout=60,
    ) as eve:
        assert (await eve.post("/v1/invitation-mails", json=mail)).status_code == 403
    async with signed_in_as("Eve", "operator") as eve:
        assert (await eve.post("/people/invite", data=BOB | {"once": "one"})).status_code == 403
    assert mail_server.taken == []
