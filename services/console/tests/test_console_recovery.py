"""A person who has lost the password comes back with a recovery code."""

import re
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

PASSWORD = "correct horse battery staple"
CODE = re.compile(r"\b(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}\b")


async def make_codes(person: httpx.AsyncClient, form_id: str) -> list[str]:
    answer = await person.post("/me/recovery-codes", data={"once": form_id})
    assert answer.status_code == 200, answer.text
    codes: list[str] = CODE.findall(answer.text.partition("<pre")[2].partition("</pre>")[0])
    assert len(set(codes)) == 10
    return codes


async def recover(client: httpx.AsyncClient, code: str, password: str = "n" * 12) -> int:
    form = {"name": "ada", "code": code, "new_password": password}
    return (await client.post("/recover", data=form)).status_code


@pytest.mark.extended
async def test_codes_are_shown_downloaded_and_let_their_person_in(
    console: Any, signed_in: Page, tmp_path: Path
) -> None:
    await signed_in.goto(f"{console.url}/me")
    assert "You have none" in await signed_in.inner_text("main")
    await signed_in.get_by_role("button", name="Make ten").click()
    shown = await signed_in.inner_text("[data-codes]")
    async with signed_in.expect_download() as started:
        await signed_in.get_by_role("link", name="Download").click()
    download = await started.value
    await download.save_as(tmp_path / "codes.txt")
    assert (tmp_path / "codes.txt").read_text() == shown
    assert await signed_in.locator("[data-copy]").is_visible()
    assert await signed_in.locator("[data-print]").is_visible()
    await signed_in.get_by_role("button", name="Sign out").click()
    await signed_in.get_by_role("link", name="lost my password").click()
    await signed_in.fill("[name=name]", "Ada")
    await signed_in.fill("[name=code]", CODE.findall(shown)[3].lower().replace("-", " "))
    await signed_in.fill("[name=new_password]", "another long password")
    await signed_in.click("main button")
    await signed_in.wait_for_url("**/me#recovery")
    assert "9 codes are left" in await signed_in.inner_text("main")


@pytest.mark.extended
async def test_a_code_works_once_and_ends_sessions_and_the_former_password(
    console: Any, person: httpx.AsyncClient
) -> None:
    await console.orchestrator.set_brand("acme", name="Acme Roasters")
    codes = await make_codes(person, "one")
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as elsewhere:
        assert await recover(elsewhere, codes[0], "short") == 422
        assert await recover(elsewhere, codes[0]) == 303
        assert (await person.get("/me")).status_code == 303
        # The API key came with the code.
        assert "Acme Roasters" in (await elsewhere.get("/")).text
        assert await recover(elsewhere, codes[0]) == 401
        former = await elsewhere.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
        assert former.status_code == 401
        assert await recover(elsewhere, codes[1]) == 303
        again = await make_codes(elsewhere, "two")
        assert await recover(elsewhere, codes[2]) == 401
        assert await recover(elsewhere, again[2]) == 303


async def test_another_persons_code_opens_nothing(console: Any, person: httpx.AsyncClient) -> None:
    await make_codes(person, "one")
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as bob:
        link = await console.invite("Bob", "viewer")
        await bob.post(link, data={"name": "Bob", "password": PASSWORD})
        codes = await make_codes(bob, "one")
        assert await recover(bob, codes[0]) == 401
        assert [await recover(bob, "0" * 20) for _ in range(5)][-1] == 401
        assert await recover(bob, codes[0]) == 429


@pytest.mark.extended
async def test_the_database_does_not_have_the_codes(
    console: Any, person: httpx.AsyncClient, database_roles: Any
) -> None:
    codes = await make_codes(person, "one")
    database = await asyncpg.connect(database_roles.owner(console.database_url))
    try:
        for table in ("recovery_codes", "done_once", "audit_log"):
            stored = repr([dict(row) for row in await database.fetch(f"select * from {table}")])
            assert not any(code in stored for code in codes)
    finally:
        await database.close()
