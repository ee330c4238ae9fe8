"""Drafts that a person has looked at without deciding, at a real orchestrator."""

from typing import Any

import httpx
import pytest


@pytest.mark.extended
async def test_who_has_looked_says_so_and_decides_later(
    console: Any, drafts: list[str], person: httpx.AsyncClient
) -> None:
    list_path = "/b/acme/drafts"
    draft_path = f"{list_path}/{drafts[0]}"
    assert "I have looked, and decide later" in (await person.get(draft_path)).text
    for _ in range(2):
        one = await person.post(f"{draft_path}/decisions/looked", data={"once": "a", "version": "1"})
        assert one.headers["location"] == f"{list_path}?done=looked&of={drafts[0]}"
    shown = (await person.get(one.headers["location"])).text
    assert "You have looked at the draft. It still waits for a decision." in shown
    assert (await console.orchestrator.get_draft(drafts[0]))["state"] == "waiting"

    assert "I have looked at all drafts that wait" in shown
    everything = await person.post(f"{list_path}/looked", data={"once": "b"}, follow_redirects=True)
    assert "You have looked at all drafts that wait." in everything.text
    assert {each["state"] for each in (await console.orchestrator.list_drafts(brand="acme"))["items"]} == {
        "waiting"
    }
    log = await console.orchestrator.list_audit_log(brand="acme", limit=5)
    assert {each["operation"] for each in log["items"]} >= {
        "POST /v1/brands/{slug}/looked",
        "POST /v1/drafts/{content_id}/looked",
    }


async def test_who_may_not_decide_has_no_button_and_is_refused(
    console: Any, drafts: list[str], person: httpx.AsyncClient
) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "author")
        await eve.post(link, data={"name": "Eve", "password": "correct horse battery staple"})
        for path in ("/b/acme/drafts", f"/b/acme/drafts/{drafts[0]}"):
            assert "I have looked at" not in (await eve.get(path)).text
        for path in ("/b/acme/drafts/looked", f"/b/acme/drafts/{drafts[0]}/decisions/looked"):
            assert (await eve.post(path, data={"once": "x", "version": "1"})).status_code == 403
    await console.orchestrator.set_brand("rival", name="Rival")
    strange = f"/b/rival/drafts/{drafts[0]}/decisions/looked"
    assert (await person.post(strange, data={"once": "y", "version": "1"})).status_code == 404
