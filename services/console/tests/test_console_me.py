"""People change their own settings."""

from typing import Any

import httpx
import pytest

PASSWORD = "correct horse battery staple"


@pytest.mark.extended
async def test_another_password_ends_the_other_sessions(console: Any, person: httpx.AsyncClient) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as elsewhere:
        await elsewhere.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
        shown = await elsewhere.get("/me")
        assert shown.status_code == 200
        assert "Everything" in shown.text or "everything" in shown.text
        refused = await person.post("/me/password", data={"password": "wrong", "new_password": "n" * 12})
        assert refused.status_code == 422
        changed = await person.post("/me/password", data={"password": PASSWORD, "new_password": "n" * 12})
        assert changed.status_code == 303
        assert (await elsewhere.get("/me")).status_code == 303
        again = await elsewhere.post("/sign-in", data={"name": "Ada", "password": "n" * 12})
        assert again.status_code == 303


async def test_pages_are_in_the_persons_language(person: httpx.AsyncClient) -> None:
    await person.post("/me", data={"language": "de", "zone": "Europe/Berlin"})
    assert "Mein Konto" in (await person.get("/me")).text
