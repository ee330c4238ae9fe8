"""Links for guests, without screens: the right to make one, the reach of its token, and limits on notes."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from console.drafts.guest_links import NOTES_AN_HOUR
from console.sealing import new_token, seal, token_hash, token_key


@pytest.fixture
async def link(console: Any, person: httpx.AsyncClient) -> Any:
    """The path of a link to a page that says hello, as its maker stored it."""
    token, link_id, content_id = new_token(), uuid4(), uuid4()
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute(
            """
            insert into guest_links (id, token_hash, brand, content_id, version, sealed, guest, made_by, expires_at)
            select $1, $2, 'acme', $3, 1, $4, 'Carla', id, now() + interval '1 hour' from people
            """,
            link_id,
            token_hash(token),
            content_id,
            seal(b"<h1>Hello</h1>", token_key(token), f"guest link {link_id}"),
        )
        await connection.execute(
            "insert into notes (id, brand, content_id, name, words) values ($1, 'acme', $2, 'Ada', 'internal')",
            uuid4(),
            content_id,
        )
        yield f"/p/{token}"
    finally:
        await connection.close()


async def send(client: httpx.AsyncClient, link: str, once: str, words: str = "Fine.") -> int:
    form = {"once": once, "name": "Carla", "words": words}
    return (await client.post(f"{link}/notes", data=form)).status_code


async def test_a_guest_sees_the_page_and_own_comments_within_bounds(console: Any, link: str) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as guest:
        framed = await guest.get(f"{link}/page")
        assert framed.text == "<h1>Hello</h1>"
        assert "sandbox" in framed.headers["content-security-policy"]
        assert await send(guest, link, "one") == 303
        assert await send(guest, link, "one") == 303, "a double click"
        shown = await guest.get(link)
        assert (shown.text.count("Fine."), "internal" in shown.text) == (1, False)
        assert shown.headers["x-robots-tag"] == "noindex, nofollow"
        assert await send(guest, link, "", "no id") == 422
        sent = [await send(guest, link, f"more {at}") for at in range(NOTES_AN_HOUR)]
        assert sent == [303] * (NOTES_AN_HOUR - 1) + [429]
        kept = await guest.post(f"{link}/notes", data={"once": "x", "name": "Carla", "words": "My words"})
        assert "My words" in kept.text
        forged = await guest.post(
            f"{link}/notes",
            data={"once": "y", "name": "C", "words": "x"},
            headers={"Sec-Fetch-Site": "cross-site"},
        )
        assert forged.status_code == 403
        for path in (f"{link}x", f"/p/{new_token()}", f"/p/{'x' * 3000}", f"{link}/other"):
            assert (await guest.get(path)).status_code == 404
        assert (await guest.get("/b/acme/drafts")).status_code == 303


@pytest.mark.extended
async def test_a_link_that_is_over_opens_nothing(console: Any, link: str) -> None:
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute(
            "update guest_links set expires_at = now() - $1::interval", timedelta(seconds=1)
        )
    finally:
        await connection.close()
    async with httpx.AsyncClient(base_url=console.url, headers={"Origin": console.url}, timeout=60) as guest:
        assert (await guest.get(link)).status_code == 404
        assert await send(guest, link, "late") == 404
