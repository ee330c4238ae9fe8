"""What an assistant proposes, on the page of its draft, at a real orchestrator."""

from itertools import product
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'


@pytest.fixture
async def proposals(console: Any, drafts: list[str]) -> list[dict[str, Any]]:
    """An edit, a second one that is hostile, and a publication at a time, for the first draft."""
    orchestrator, content_id = console.orchestrator, drafts[0]
    return [
        await orchestrator.propose_edit(
            content_id, version=1, comment="Shorter.", title="A better title", key_points=["Twelve hours."]
        ),
        await orchestrator.propose_edit(content_id, version=1, comment=HOSTILE, title=HOSTILE),
        await orchestrator.propose_publication(
            content_id, version=1, comment="It is ready.", publish_at="2099-03-01T09:00:00Z"
        ),
    ]


async def test_a_proposal_is_accepted_on_the_page_of_its_draft(
    console: Any, drafts: list[str], proposals: list[dict[str, Any]], signed_in: Page
) -> None:
    page, title = signed_in, "A better title"
    await page.goto(f"{console.url}/b/acme/drafts")
    waiting = page.get_by_role("region", name="Proposals wait for you")
    await waiting.get_by_role("link").first.click()
    await page.wait_for_url("**/drafts/*#proposals")
    wanted = page.locator(f"#proposal-{proposals[0]['id']}")
    await wanted.get_by_text("Shorter.").wait_for()
    assert await wanted.locator("ins").filter(has_text=title).count() == 1
    await wanted.get_by_role("button", name="Accept the change").click()
    await page.get_by_text("The proposal is accepted.").wait_for()
    assert await page.get_by_role("heading", level=1).inner_text() == title
    # The others were made for the version before.
    assert await page.get_by_text("can no longer be accepted").count() == 2
    assert await page.get_by_role("button", name="Accept the change").count() == 0
    ready = page.locator(f"#proposal-{proposals[2]['id']}")
    await ready.get_by_label("Why not").fill("Too late.")
    await ready.get_by_role("button", name="Dismiss the proposal").click()
    await page.get_by_text("The proposal is dismissed").wait_for()
    assert await page.evaluate("window.hacked") is None
    found = (await console.orchestrator.list_proposals(drafts[0]))["items"]
    assert {each["id"]: (each["outcome"], each["reason"]) for each in found} == {
        proposals[0]["id"]: ("accepted", ""),
        proposals[1]["id"]: (None, ""),
        proposals[2]["id"]: ("dismissed", "Too late."),
    }


@pytest.mark.extended
async def test_a_press_counts_once_and_only_of_those_who_may_decide(
    console: Any,
    drafts: list[str],
    proposals: list[dict[str, Any]],
    person: httpx.AsyncClient,
) -> None:
    path = f"/b/acme/drafts/{drafts[0]}"
    accept = f"{path}/proposals/{proposals[0]['id']}/accept"
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "author")
        await eve.post(link, data={"name": "Eve", "password": "correct horse battery staple"})
        shown = (await eve.get(path)).text
        assert "Shorter." in shown
        assert "Accept the change" not in shown
        assert (await eve.post(accept, data={"once": "e"})).status_code == 403
    for _ in range(2):
        answer = await person.post(accept, data={"once": "a"})
        assert answer.headers["location"] == f"{path}?done=proposal_accept&of={drafts[0]}#proposals"
    assert (await console.orchestrator.get_draft(drafts[0]))["version"] == 2
    late = await person.post(f"{path}/proposals/{proposals[0]['id']}/dismiss", data={"once": "b"})
    assert (late.status_code, "has accepted this proposal already" in late.text) == (409, True)
    assert (await person.post(f"{path}/proposals/{drafts[1]}/accept", data={"once": "c"})).status_code == 404
    assert (await person.post(f"{path}/proposals/x/accept", data={"once": "d"})).status_code == 404
    assert (await person.post(f"{path}/proposals/{drafts[1]}/eat", data={"once": "f"})).status_code == 404
    await console.orchestrator.set_brand("rival", name="Rival")
    strange = accept.replace("/b/acme/", "/b/rival/")
    assert (await person.post(strange, data={"once": "g"})).status_code == 404


@pytest.mark.extended
async def test_the_page_with_proposals_fits_and_can_be_read(
    drafts: list[str],
    proposals: list[dict[str, Any]],
    signed_in: Page,
    console: Any,
    page_checks: Any,
) -> None:
    assert len(proposals) == 3
    for path, width in product((f"/b/acme/drafts/{drafts[0]}", "/b/acme/drafts"), (360, 1280)):
        await signed_in.set_viewport_size({"width": width, "height": 900})
        await signed_in.goto(console.url + path)
        assert await signed_in.evaluate("document.documentElement.scrollWidth") <= width
        assert await page_checks.accessibility(signed_in) == []
