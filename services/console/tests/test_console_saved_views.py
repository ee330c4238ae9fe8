"""A person keeps the filter of a list under a name, renames it and removes it; only that person sees it."""

import re
from typing import Any

import httpx
import pytest


async def press(person: httpx.AsyncClient, path: str, **form: str) -> str:
    answer = await person.post(path, data=form, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.extended
async def test_a_filter_is_kept_under_a_name(console: Any, person: httpx.AsyncClient) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    shown = (await person.get("/b/acme/keywords?state=refused&age=week")).text
    assert "Keep this filter as a view" in shown
    assert "Keep this filter" not in (await person.get("/b/acme/keywords")).text
    place = {"screen": "keywords", "query": "?state=refused&age=week&after=1&notice=2"}
    saved = await press(person, "/b/acme/views", once="a", name=" Too  little <b> ", **place)
    assert "The view “Too little &lt;b&gt;” is kept." in saved
    link = re.search(r'href="(/b/acme/keywords\?[^"]*)" aria-current="true">Too little', saved)
    assert link
    assert link[1] == "/b/acme/keywords?state=refused&amp;age=week"
    (view,) = set(re.findall(r"/b/acme/views/([0-9a-f-]{36})/", saved))
    renamed = await press(person, f"/b/acme/views/{view}/rename", once="b", name="Refused", **place)
    assert ">Refused</a>" in renamed
    await press(person, "/b/acme/views", once="c", name="Other", screen="keywords", query="?q=tea")
    taken = await press(person, f"/b/acme/views/{view}/rename", once="d", name="Other", **place)
    assert "Another view is called “Other”" in taken

    link_of_bob = await console.invite("Bob", "viewer")
    async with httpx.AsyncClient(base_url=console.url, headers={"Origin": console.url}, timeout=60) as bob:
        await bob.post(link_of_bob, data={"name": "Bob", "password": "correct horse battery staple"})
        assert "Refused</a>" not in (await bob.get("/b/acme/keywords")).text
        await bob.post(f"/b/acme/views/{view}/remove", data={"once": "e", **place})
    removed = await press(person, f"/b/acme/views/{view}/remove", once="f", **place)
    assert "The view “Refused” is removed." in removed
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', removed)
    assert undo
    assert ">Refused</a>" in await press(person, undo[1], once="g")
    full = ""
    for number in range(20):
        full = await press(person, "/b/acme/views", once=f"n{number}", name=f"View {number}", **place)
    assert "A list has 20 views at most." in full
    assert (await person.post("/b/acme/views", data={"once": "x", "screen": "keys"})).status_code == 422
