"""Signing in, and what keeps strangers out."""

import re
from typing import Any, Final

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from chassis.http.service_key import API_KEY_BEGINS
from console.urls import safe_next

PASSWORD = "correct horse battery staple"
KEY: Final = re.compile(rf"{API_KEY_BEGINS}[0-9A-Za-z]{{12}}_")
"""Begins an API key. Its first three characters alone also occur by chance, in what is sealed."""


@pytest.mark.extended
async def test_a_link_makes_a_person_who_sees_the_brands(console: Any, signed_in: Page) -> None:
    await console.orchestrator.set_brand("acme", name="Acme <b>")
    assert "Ada" in await signed_in.inner_text("h1")


@pytest.mark.extended
async def test_a_link_works_once(console: Any, person: httpx.AsyncClient) -> None:
    link = await console.invite("Bob", "viewer")
    sent = [await person.post(link, data={"name": "Bob", "password": PASSWORD}) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [303, 404]


@pytest.mark.extended
async def test_a_forged_request_is_refused(console: Any, person: httpx.AsyncClient) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert (await person.post("/sign-out", headers=headers)).status_code == 403
    assert (await person.get("/")).status_code == 200


@pytest.mark.extended
async def test_signing_in_changes_the_session(console: Any, person: httpx.AsyncClient) -> None:
    planted = dict(person.cookies)
    await person.post("/sign-in", data={"name": "ada", "password": PASSWORD})
    assert dict(person.cookies) != planted
    async with httpx.AsyncClient(base_url=console.url, cookies=planted, trust_env=False) as thief:
        assert (await thief.get("/")).status_code == 303


@pytest.mark.extended
@pytest.mark.parametrize(
    "address", ["//evil.example", "https://evil.example", "/\\evil.example", "\t//evil.example", "evil"]
)
async def test_nobody_is_sent_elsewhere_after_signing_in(person: httpx.AsyncClient, address: str) -> None:
    data = {"name": "Ada", "password": PASSWORD, "next": address}
    assert (await person.post("/sign-in", data=data)).headers["location"] == "/"


def test_a_page_of_ours_is_a_safe_next_page() -> None:
    assert safe_next("/b/acme/drafts?state=waiting") == "/b/acme/drafts?state=waiting"


@pytest.mark.extended
async def test_no_page_can_be_framed(person: httpx.AsyncClient) -> None:
    for path in ("/", "/sign-in", "/nowhere"):
        answer = await person.get(path)
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.extended
async def test_the_database_has_no_usable_key(
    console: Any, person: httpx.AsyncClient, database_roles: Any
) -> None:
    await console.invite("Bob")
    connection = await asyncpg.connect(database_roles.owner(console.database_url))
    try:
        for table in ("people", "sessions", "invitations", "recovery_codes", "audit_log", "done_once"):
            for row in await connection.fetch(f"select * from {table}"):
                text = repr(dict(row))
                assert not KEY.search(text)
                assert not any(cookie in text for cookie in person.cookies.values())
    finally:
        await connection.close()


@pytest.mark.extended
async def test_a_removed_person_is_out_at_once(console: Any, person: httpx.AsyncClient) -> None:
    (found,) = (await console.api.get("/v1/people")).json()["items"]
    assert (await console.api.delete(f"/v1/people/{found['id']}")).status_code == 204
    assert (await person.get("/")).headers["location"] == "/sign-in"


@pytest.mark.extended
async def test_strangers_failures_slow_them_and_not_the_person(
    console: Any, person: httpx.AsyncClient
) -> None:
    statuses = [
        (await person.post("/sign-in", data={"name": "Ada", "password": "wrong"})).status_code
        for _ in range(7)
    ]
    assert statuses[0] == 401
    assert statuses[-1] == 429


@pytest.mark.extended
async def test_a_session_ends_with_sign_out(console: Any, person: httpx.AsyncClient) -> None:
    kept = dict(person.cookies)
    await person.post("/sign-out")
    async with httpx.AsyncClient(base_url=console.url, cookies=kept, trust_env=False) as thief:
        assert (await thief.get("/")).headers["location"] == "/sign-in"
