"""Invitations to the console go out by mail: a fixed text, a bound, and nothing of them is kept."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from messaging import Database

TOKEN = "k" * 42 + "Q"
LINK = f"https://console.acme.example/console/invitations/{TOKEN}"
ASKED = {
    "address": "bob@acme.example",
    "url": LINK,
    "name": "Bob <b>",
    "inviter": "Ada",
    "language": "de",
    "installation": "Acme",
}


async def everything_kept(database: Database) -> str:
    async with database.connection() as connection:
        tables = await connection.fetch(
            "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'"
        )
        rows = [await connection.fetch(f'select t::text from "{each[0]}" t') for each in tables]
    return "\n".join(row[0] for each in rows for row in each)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("language", "subject", "words"),
    [
        ("de", "Ada lädt Sie zu Acme ein", "24 Stunden"),
        ("en", "Ada invites you to Acme", "24 hours"),
    ],
)
async def test_a_mail_goes_out_in_the_invited_persons_language_and_leaves_no_trace(
    desk: httpx.AsyncClient, outside: Any, database: Database, language: str, subject: str, words: str
) -> None:
    answer = await desk.post("/v1/invitation-mails", json=ASKED | {"language": language})
    assert (answer.status_code, answer.json()) == (201, {"account": "mail"})
    (mail,) = outside.sent["mail"]
    assert (mail["to"], mail["subject"]) == (["bob@acme.example"], subject)
    assert LINK in mail["text"]
    assert words in mail["text"]
    assert f'href="{LINK}"' in mail["html"]
    assert "Bob &lt;b&gt;" in mail["html"]
    (entry,) = (await desk.get("/v1/audit-log")).json()["items"]
    assert entry["operation"] == "POST /v1/invitation-mails"
    kept = await everything_kept(database)
    assert TOKEN not in kept
    assert "bob@acme.example" not in kept


async def test_no_more_go_out_in_an_hour_than_allowed(
    desk: httpx.AsyncClient, outside: Any, database: Database
) -> None:
    answers = [(await desk.post("/v1/invitation-mails", json=ASKED)).status_code for _ in range(21)]
    assert answers == [201] * 20 + [429]
    assert len(outside.sent["mail"]) == 20
    async with database.transaction() as tx:
        await tx.connection.execute("update invitation_mails set sent_at = sent_at - interval '1 hour'")
    assert (await desk.post("/v1/invitation-mails", json=ASKED)).status_code == 201


async def test_nothing_but_invitations_is_mailed(desk: httpx.AsyncClient, outside: Any) -> None:
    for wrong in (
        {"url": "https://evil.example/"},
        {"url": f"javascript:alert(1)//invitations/{TOKEN}"},
        {"url": f"{LINK}?next=elsewhere"},
        {"address": "bob@acme.example, eve@evil.example"},
        {"address": "bob@acme.example\r\nBcc: eve@evil.example"},
        {"name": "Bob\r\nBcc: eve@evil.example"},
        {"inviter": "Ada\nX: y"},
        {"language": "fr"},
    ):
        answer = await desk.post("/v1/invitation-mails", json=ASKED | wrong)
        assert answer.status_code == 422, wrong
        assert TOKEN not in answer.text
    assert not outside.sent


async def test_what_keeps_a_mail_from_going_out_is_said(
    desk: httpx.AsyncClient,
    outside: Any,
    gateway_refuses: Callable[..., Response],
    new_account: Callable[..., dict[str, Any]],
) -> None:
    async def refuses() -> Response:
        return gateway_refuses(422, "mail.refused", "mail.test does not take the mail: 550 no such user")

    async def later() -> Response:
        return gateway_refuses(503, "mail.later", "mail.test does not take the mail now: 451 later")

    for answers, status, code in (
        (refuses, 422, "invitation_mail_refused"),
        (later, 503, "invitation_not_mailed"),
    ):
        outside.answers["mail"] = answers
        answer = await desk.post("/v1/invitation-mails", json=ASKED)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    outside.accounts = [
        new_account("of-acme", "smtp", ("acme",)),
        new_account("ended", "smtp", state="needs_reconnecting"),
    ]
    answer = await desk.post("/v1/invitation-mails", json=ASKED)
    assert (answer.status_code, answer.json()["code"]) == (422, "mail_not_connected")
    outside.away = True
    answer = await desk.post("/v1/invitation-mails", json=ASKED)
    assert (answer.status_code, answer.json()["code"]) == (503, "invitation_not_mailed")
