"""People change their own settings."""

from typing import Any

import httpx
import pytest

from console.me.browsers import browser_name

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


@pytest.mark.parametrize(
    ("user_agent", "browser", "system"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 Safari/537.36",
            "Chrome",
            "Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36 Edg/150.0",
            "Edge",
            "Windows",
        ),
        (
            "Mozilla/5.0 (Linux; Android 15; SM-S921B) SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36",
            "Samsung Internet",
            "Android",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0",
            "Firefox",
            "macOS",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1",
            "Safari",
            "iPhone",
        ),
        ("python-httpx/0.28.1", "", ""),
        ("", "", ""),
    ],
)
def test_a_browser_has_the_name_that_people_know(user_agent: str, browser: str, system: str) -> None:
    assert browser_name(user_agent) == (browser, system)


async def test_sessions_are_told_apart_by_browser_and_system(console: Any, person: httpx.AsyncClient) -> None:
    firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"
    async with httpx.AsyncClient(
        base_url=console.url,
        headers={"Origin": console.url, "User-Agent": firefox},
        timeout=60,
        trust_env=False,
    ) as elsewhere:
        await elsewhere.post("/sign-in", data={"name": "Ada", "password": PASSWORD})
    shown = (await person.get("/me")).text
    assert "Firefox on Windows" in shown
    assert "A browser of unknown make" in shown
    assert "Gecko" not in shown


async def test_every_page_names_the_zone_of_its_times(person: httpx.AsyncClient) -> None:
    await person.post("/me", data={"language": "en", "zone": "Asia/Tokyo"})
    assert "All times are in the zone Asia/Tokyo." in (await person.get("/")).text
