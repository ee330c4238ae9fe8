"""Keywords that mean the same are joined and separated, and both is taken back."""

import re
from typing import Any

import httpx
import pytest

from chassis.testing import eventually

HERE = "/b/acme/keywords/subjects"
HOSTILE = "moka <b>pot"


@pytest.fixture
async def submitted(console: Any) -> None:
    """Work under way on three subjects: nobody answers for research."""
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.submit_keywords(
        "acme",
        f"{HOSTILE}\nstovetop espresso\nblues guitar\nblues guitars".encode(),
        content_type="text/plain",
    )

    async def are_in_hand() -> bool:
        return len((await console.orchestrator.list_subjects("acme"))["items"]) == 3

    await eventually(are_in_hand)


async def press(client: httpx.AsyncClient, once: str, **form: str) -> httpx.Response:
    return await client.post(HERE, data={"once": once, **form}, follow_redirects=True)


async def undo(person: httpx.AsyncClient, shown: str, once: str) -> None:
    found = re.search(r'action="(/undo/[0-9a-f-]+)"', shown)
    assert found, shown
    assert (await person.post(found[1], data={"once": once})).status_code == 303


async def decisions(console: Any) -> list[tuple[str, str, str | None]]:
    found = await console.orchestrator.list_subject_decisions("acme")
    return [(each["kind"], each["keyword"], each["other"]) for each in found["items"]]


@pytest.mark.extended
async def test_keywords_are_joined_and_separated_and_taken_back(
    console: Any, submitted: None, person: httpx.AsyncClient
) -> None:
    assert f'href="{HERE}"' in (await person.get("/b/acme/keywords")).text
    shown = (await person.get(HERE)).text
    assert "moka &lt;b&gt;pot" in shown
    assert "<strong>blues guitar</strong>" in shown
    assert "<strong>stovetop" not in (await person.get(f"{HERE}?q=blues+guitar")).text

    for _ in range(2):
        joined = (await press(person, "a", do="join", keyword=HOSTILE, other="stovetop espresso")).text
        assert "are one subject now." in joined
    assert await decisions(console) == [("join", HOSTILE, "stovetop espresso")]
    so = (await press(person, "b", do="join", keyword=HOSTILE, other="stovetop espresso")).text
    assert "It was so already." in so
    assert "/undo/" not in so
    await undo(person, joined, "c")
    assert await decisions(console) == []

    split = (await press(person, "d", do="split", keyword="blues guitars")).text
    assert "“blues guitars” is a subject of its own now." in split
    assert await decisions(console) == [("split", "blues guitars", None)]
    await undo(person, split, "e")
    assert await decisions(console) == []

    nothing = await press(person, "f", do="join", keyword=HOSTILE, other="")
    assert nothing.status_code == 422
    assert 'value="moka &lt;b&gt;pot"' in nothing.text


async def test_only_who_operates_decides_about_subjects(
    console: Any, submitted: None, signed_in_as: Any
) -> None:
    async with signed_in_as("Eve", "editor") as eve:
        shown = (await eve.get(HERE)).text
        assert "<strong>blues guitar</strong>" in shown
        assert f'method="post" action="{HERE}"' not in shown
        assert "the right “operate”, which your role (editor) does not have" in shown
        assert (await press(eve, "e", do="split", keyword="blues guitars")).status_code == 403
    assert await decisions(console) == []
