"""A grave act asks for the password again if it was given long ago, and keeps what was typed."""

from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

PASSWORD = "correct horse battery staple"


async def forget_proof(console: Any) -> None:
    database = await asyncpg.connect(console.database_url)
    try:
        await database.execute("update sessions set confirmed_at = now() - interval '11 minutes'")
    finally:
        await database.close()


@pytest.mark.extended
async def test_a_form_from_before_is_repeated_with_the_password(console: Any, signed_in: Page) -> None:
    await signed_in.goto(f"{console.url}/people")
    assert await signed_in.locator("[name=password_again]").count() == 0
    await forget_proof(console)
    await signed_in.fill("[name=name]", "Bob <b>")
    await signed_in.select_option("[name=role]", "editor")
    await signed_in.click("form[action$=invite] button")
    await signed_in.fill("[name=password_again]", "wrong")
    await signed_in.click("main button")
    assert "The password is wrong" in await signed_in.inner_text("[role=alert]")
    await signed_in.fill("[name=password_again]", PASSWORD)
    await signed_in.click("main button")
    link = await signed_in.inner_text("main code")
    invited = await signed_in.goto(link.replace("http://127.0.0.1:8016", console.url))
    assert invited is not None
    assert await signed_in.input_value("[name=name]") == "Bob <b>"


async def test_a_form_that_has_the_field_needs_no_further_page(
    console: Any, person: httpx.AsyncClient
) -> None:
    await forget_proof(console)
    assert 'name="password_again"' in (await person.get("/people")).text
    form = {"once": "one", "name": "Bob", "role": "owner"}
    asked = await person.post("/people/invite", data=form)
    assert asked.status_code == 403
    assert "Bob" in asked.text
    assert len((await console.orchestrator.list_keys())["items"]) == 1
    invited = await person.post("/people/invite", data={**form, "password_again": PASSWORD})
    assert invited.status_code == 200
    assert PASSWORD not in asked.text + invited.text
    # The password counts for a while.
    assert (await person.post("/people/invite", data={**form, "once": "two"})).status_code == 200


@pytest.mark.extended
async def test_wrong_passwords_before_grave_acts_are_slowed(console: Any, person: httpx.AsyncClient) -> None:
    await forget_proof(console)
    form = {"once": "one", "name": "Bob", "role": "owner"}
    for _ in range(7):
        asked = await person.post("/people/invite", data={**form, "password_again": "wrong"})
        assert asked.status_code == 403
    asked = await person.post("/people/invite", data={**form, "password_again": PASSWORD})
    assert "too many wrong tries" in asked.text
