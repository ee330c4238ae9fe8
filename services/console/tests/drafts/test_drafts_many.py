"""Deciding about all matching drafts: those that matched when the button was pressed are decided, the rest is reported."""

from typing import Any

import httpx
import pytest


async def approve_all(person: httpx.AsyncClient, once: str) -> str:
    form = {"once": once, "which": "all", "do": "approve", "q": "brew", "state": "waiting"}
    answer = await person.post("/b/acme/drafts/decide", data=form, follow_redirects=True)
    assert answer.status_code == 200
    return answer.text


@pytest.mark.extended
async def test_what_is_beyond_one_press_is_told_and_comes_with_the_next(
    console: Any, drafts: list[str], person: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.mass_actions.acting.MOST_AT_ONCE", 12)
    first = await approve_all(person, "one")
    assert "12 drafts are approved." in first
    assert f"{len(drafts) - 12} or more still match" in first
    assert "came later" not in first
    assert "12 drafts are approved." in await approve_all(person, "one"), "pressed twice, it acts once"
    waiting = await console.orchestrator.list_drafts(brand="acme", state="waiting", limit=100)
    assert [each["content_id"] for each in waiting["items"]] == drafts[12:], "in the order of the list"
    second = await approve_all(person, "two")
    assert f"{len(drafts) - 12} drafts are approved." in second
    assert "still match" not in second
