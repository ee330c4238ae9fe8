"""An article is deleted for good by an owner, with what the console has about it."""

from typing import Any

import asyncpg
import httpx
import pytest

from client import RefusedError

PASSWORD = "correct horse battery staple"
REASON = "It was about a person."


async def left(console: Any, content_id: str) -> tuple[int, int]:
    """The numbers of notes and guests' links."""
    connection = await asyncpg.connect(console.database_url)
    try:
        notes = await connection.fetchval("select count(*) from notes where content_id = $1", content_id)
        links = await connection.fetchval(
            "select count(*) from guest_links where content_id = $1", content_id
        )
    finally:
        await connection.close()
    return notes, links


@pytest.mark.extended
async def test_an_owner_deletes_an_article_with_its_notes_and_links(
    console: Any, drafts: list[str], person: httpx.AsyncClient
) -> None:
    wrong = drafts[0]
    draft, article = f"/b/acme/drafts/{wrong}", f"/b/acme/articles/{wrong}"
    await person.post(f"{draft}/notes", data={"once": "n", "words": "Who is that?"})
    await person.post(f"{draft}/guests", data={"once": "g", "version": "1", "guest": "Gina"})
    assert await left(console, wrong) == (1, 1)
    assert f'href="{article}#delete"' in (await person.get(draft)).text
    assert "Delete this article for good" in (await person.get(article)).text

    nothing = await person.post(f"{article}/delete", data={"once": "d0", "reason": ""})
    assert nothing.status_code == 422
    for _ in range(2):
        answer = await person.post(
            f"{article}/delete", data={"once": "d1", "reason": REASON}, follow_redirects=True
        )
        assert "is deleted for good." in answer.text
    with pytest.raises(RefusedError, match=REASON):
        await console.orchestrator.get_draft(wrong)
    assert await left(console, wrong) == (0, 0)
    assert REASON in (await person.get(article)).text
    assert (await console.orchestrator.get_draft(drafts[1]))["state"] == "waiting"


async def test_only_owners_delete_after_their_password_and_no_other_brand(
    console: Any, drafts: list[str], person: httpx.AsyncClient
) -> None:
    article = f"/b/acme/articles/{drafts[0]}"
    await console.orchestrator.set_brand("other", name="Other")
    elsewhere = await person.post(
        f"/b/other/articles/{drafts[0]}/delete", data={"once": "e", "reason": REASON}
    )
    assert elsewhere.status_code == 404
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as olga:
        await olga.post(await console.invite("Olga", "operator"), data={"name": "Olga", "password": PASSWORD})
        shown = (await olga.get(article)).text
        assert "Only owners can do this; your role is operator." in shown
        assert f"{article}/delete" not in shown
        assert (await olga.post(f"{article}/delete", data={"once": "o", "reason": REASON})).status_code == 403
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    asked = await person.post(f"{article}/delete", data={"once": "p", "reason": REASON})
    assert asked.status_code == 403
    assert "password" in asked.text
    assert (await console.orchestrator.get_draft(drafts[0]))["state"] == "waiting"
