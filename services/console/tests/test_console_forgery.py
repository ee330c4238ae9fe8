"""What other sites, and links that others write, may not do with a signed-in person's browser."""

from typing import Any, Final

import httpx
import pytest
from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from chassis.testing import serving
from tests.fixtures.console.screens import posts_of

PASSWORD: Final = "correct horse battery staple"
ELSEWHERE: Final = (
    "//evil.example",
    "///evil.example",
    "https://evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "/\\evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/\u202e/evil.example",
    "/%5cevil.example/../\\evil",
    "evil.example",
    "",
)


def forged(url: str) -> list[tuple[str, dict[str, str]]]:
    """Headers of a browser or a program for a request that is not from a page of the console."""
    return [
        ("cross-site", {"Sec-Fetch-Site": "cross-site", "Origin": url}),
        ("same-site", {"Sec-Fetch-Site": "same-site", "Origin": url}),
        ("foreign origin", {"Origin": "https://evil.example"}),
        ("a longer host", {"Origin": f"{url}.evil.example"}),
        ("another port", {"Origin": "http://127.0.0.1:1"}),
        ("no origin", {"Origin": "null"}),
        ("nothing", {}),
    ]


@pytest.mark.extended
async def test_every_change_refuses_what_comes_from_elsewhere(
    console: Any, person: httpx.AsyncClient
) -> None:
    """Before it looks at anything else, on every route of every screen."""
    routes = sorted(posts_of(console.pages))
    assert "/b/{brand}/keywords/add" in routes
    del person.headers["Origin"]
    for path in routes:
        for why, headers in forged(console.url):
            answer = await person.post(path, headers=headers, data={"once": why})
            assert answer.status_code == 403, f"{path}: {why}"
            assert "another site" in answer.text
    assert (await person.get("/")).status_code == 200, "nobody was signed out"


@pytest.mark.extended
async def test_every_change_is_for_people_who_are_signed_in(console: Any) -> None:
    """Except the ways in."""
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as stranger:
        for path in sorted(posts_of(console.pages) - WAYS_IN):
            if path.startswith(FOR_GUESTS):
                continue
            answer = await stranger.post(path, data={"once": "x"})
            assert answer.status_code in {401, 422}, f"{path}: {answer.status_code}"


FOR_GUESTS: Final = "/p/{token}"
WAYS_IN: Final = frozenset(
    {
        "/sign-in",
        "/sign-in/again",
        "/sign-in/passkey/begin",
        "/sign-out",
        "/start/{token}",
        "/invitations/{token}",
    }
)


@pytest.mark.extended
async def test_no_address_in_a_link_leads_out(person: httpx.AsyncClient) -> None:
    for address in ELSEWHERE:
        # Who is signed in already is sent on at once.
        signed_in = await person.get("/sign-in", params={"next": address})
        data = {"name": "Ada", "password": PASSWORD, "next": address}
        again = await person.post("/sign-in", data=data)
        found = [(each.status_code, each.headers.get("location")) for each in (signed_in, again)]
        assert found == [(303, "/")] * 2, address
    await person.post("/sign-out")
    for address in ELSEWHERE:
        shown = await person.get("/sign-in", params={"next": address})
        assert 'name="next" value="/"' in shown.text, address


async def test_a_session_that_was_planted_is_not_taken_over(console: Any) -> None:
    """Neither one that the console never made, nor an attacker's own, becomes that of the person who signs in with it."""
    async with (
        httpx.AsyncClient(base_url=console.url, headers={"Origin": console.url}, trust_env=False) as attacker,
        httpx.AsyncClient(base_url=console.url, headers={"Origin": console.url}, trust_env=False) as victim,
    ):
        await attacker.post(await console.invite("Eve"), data={"name": "Eve", "password": PASSWORD})
        await victim.post(await console.invite("Ada"), data={"name": "Ada", "password": PASSWORD})
        await victim.post("/sign-out")
        for planted in ("chosen-by-somebody-else", attacker.cookies["console_session"]):
            headers = {"Cookie": f"console_session={planted}", "Origin": console.url}
            data = {"name": "Ada", "password": PASSWORD}
            answer = await victim.post("/sign-in", data=data, headers=headers)
            assert answer.status_code == 303
            assert "HttpOnly" in answer.headers["set-cookie"]
            assert planted not in answer.headers["set-cookie"]
            assert "<h1>Ada</h1>" not in (await attacker.get("/me")).text


@pytest.mark.extended
async def test_another_site_cannot_frame_the_console(console: Any, signed_in: Page) -> None:
    """In a real browser, which has the session's cookie."""
    await console.orchestrator.set_brand("acme", name="Acme")

    async def trap(_: Request) -> Response:
        return HTMLResponse(f"<!doctype html><title>x</title><iframe src='{console.url}/b/acme'></iframe>")

    async with serving(Starlette(routes=[Route("/", trap)])) as elsewhere:
        await signed_in.goto(elsewhere)
        framed = next(each for each in signed_in.frames if each != signed_in.main_frame)
        assert "Acme" not in await framed.evaluate("document.body ? document.body.innerText : ''")
        assert not framed.url.startswith(console.url)
