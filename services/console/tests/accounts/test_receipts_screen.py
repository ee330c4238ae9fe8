"""What was sent to other servers, beside a real publisher and a real social; articles in doubt are settled."""

import json
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from client import Address
from client.services.publisher import AsyncPublisher

KEY = "test-service-key-0123456789"
RECEIPTS = "/b/acme/receipts"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'


async def add_receipt(database_url: str, state: str, *, brand: str = "acme", subject: str = HOSTILE) -> UUID:
    """An article at another place, in a state."""
    made = uuid4()
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            """
            insert into receipts (receipt_id, kind, account, brand_slug, subject, prepared, steps, step, state, detail, remote)
            values ($1, 'wordpress', 'blog', $2, $3, $8, '{post}', $4, $5, $6, $7)
            """,
            made,
            brand,
            subject,
            None if state in {"ready", "confirmed"} else "post",
            state,
            f"because of {HOSTILE}" if state in {"in_doubt", "refused"} else "",
            '{"url": "javascript:window.hit = 1"}' if state == "confirmed" else "{}",
            json.dumps({"content_id": str(uuid4()), "target": "wordpress"}),
        )
    finally:
        await connection.close()
    return made


@pytest.mark.extended
async def test_what_was_sent_is_listed_by_state_and_what_is_in_doubt_first_looked_at(
    acme: None, person: httpx.AsyncClient, publisher_database_url: str
) -> None:
    assert f'href="{RECEIPTS}"' in (await person.get("/b/acme/posts")).text
    assert (await person.get(RECEIPTS)).text.count("There is nothing in this state.") == 2
    doubtful = await add_receipt(publisher_database_url, "in_doubt")
    arrived = await add_receipt(publisher_database_url, "confirmed", subject="Arrived there")
    await add_receipt(publisher_database_url, "in_doubt", brand="rival", subject="Not ours")
    shown = (await person.get(RECEIPTS)).text
    assert f'href="{RECEIPTS}/{doubtful}"' in shown
    assert ("Arrived there" in shown, "Not ours" in shown, HOSTILE in shown) == (False, False, False)
    assert "&lt;script&gt;window.hit" in shown
    there = (await person.get(RECEIPTS, params={"state": "confirmed"})).text
    assert ("Arrived there" in there, "javascript:" in there) == (True, False)
    # Words that no page offers are the usual list.
    strange = await person.get(
        RECEIPTS, params={"state": "<b>", "after_publisher": "-1", "after_social": "x"}
    )
    assert (strange.status_code, str(doubtful) in strange.text) == (200, True)
    assert "Arrived" in (await person.get(f"{RECEIPTS}/{arrived}")).text
    for nothing in ("nothing", str(uuid4())):
        assert (await person.get(f"{RECEIPTS}/{nothing}")).status_code == 404


@pytest.mark.extended
async def test_the_list_goes_on_for_each_service(
    acme: None, person: httpx.AsyncClient, publisher_database_url: str
) -> None:
    for number in range(52):
        await add_receipt(publisher_database_url, "ready", subject=f"Article {number:02}.")
    first = (await person.get(RECEIPTS)).text
    assert "Article 51." in first
    assert "Article 01." not in first
    (rest,) = {each for each in first.split('"') if "after_publisher" in each}
    second = (await person.get(RECEIPTS + rest.replace("&amp;", "&"))).text
    assert "Article 01." in second
    assert "Article 51." not in second


@pytest.mark.extended
async def test_an_article_in_doubt_is_confirmed_or_sent_again_once(
    acme: None, person: httpx.AsyncClient, service_urls: dict[str, str], publisher_database_url: str
) -> None:
    first, second = [await add_receipt(publisher_database_url, "in_doubt") for _ in range(2)]
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as publisher:
        wrong = await person.post(f"{RECEIPTS}/{first}/confirm", data={"once": "a", "url": ""})
        assert (wrong.status_code, 'role="alert"' in wrong.text) == (422, True)
        told = {"once": "b", "url": "https://blog.acme.example/tea"}
        for _ in range(2):
            right = await person.post(f"{RECEIPTS}/{first}/confirm", data=told)
            assert right.headers["location"] == f"{RECEIPTS}/{first}"
        found = await publisher.get_receipt(first)
        assert (found["state"], found["remote"]["url"]) != ("in_doubt", "")
        assert found["attempts"][-1]["made_by"] == "ada"
        late = await person.post(f"{RECEIPTS}/{first}/confirm", data={**told, "once": "c"})
        assert (late.status_code, 'role="alert"' in late.text) == (409, True)

        blind = await person.post(f"{RECEIPTS}/{second}/repeat", data={"once": "d"})
        assert (blind.status_code, "Look there first" in blind.text) == (422, True)
        assert (await publisher.get_receipt(second))["state"] == "in_doubt"
        sent = await person.post(f"{RECEIPTS}/{second}/repeat", data={"once": "e", "looked": "1"})
        assert sent.headers["location"] == f"{RECEIPTS}/{second}"
        assert (await publisher.get_receipt(second))["state"] != "in_doubt"


async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, another: Any, publisher_database_url: str
) -> None:
    doubtful = await add_receipt(publisher_database_url, "in_doubt")
    path = f"{RECEIPTS}/{doubtful}"
    async with another("viewer", ["acme"]) as eve:
        shown = (await eve.get(path)).text
        assert "the right “review”, which your role (viewer) does not have" in shown
        assert 'method="post" action="/b/' not in shown
        for verb in ("confirm", "repeat"):
            form = {"once": verb, "looked": "1", "url": "https://x.example"}
            assert (await eve.post(f"{path}/{verb}", data=form)).status_code == 403
    async with another("editor", ["acme"], "Edith") as edith:
        shown = (await edith.get(path)).text
        assert "the right “operate”, which your role (editor) does not have" in shown
        assert f'action="{path}/repeat"' not in shown
        assert (await edith.post(f"{path}/repeat", data={"once": "x", "looked": "1"})).status_code == 403
    await console.orchestrator.set_brand("rival", name="Rival")
    async with another("operator", ["rival"], "Olga") as olga:
        assert (await olga.get(path)).status_code == 404
        strange = path.replace("acme", "rival")
        assert (await olga.get(strange)).status_code == 404
        assert (await olga.post(f"{strange}/repeat", data={"once": "x", "looked": "1"})).status_code == 404


@pytest.mark.extended
@pytest.mark.parametrize("width", [360, 1280])
async def test_a_person_settles_an_article_in_a_browser(
    console: Any, acme: None, signed_in: Page, publisher_database_url: str, page_checks: Any, width: int
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    doubtful = await add_receipt(publisher_database_url, "in_doubt")
    await add_receipt(publisher_database_url, "refused")
    await page.goto(console.url + RECEIPTS)
    for _ in range(2):
        assert await page.evaluate("window.hit") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert await page_checks.accessibility(page) == []
        await page.goto(f"{console.url}{RECEIPTS}/{doubtful}")
    await page.get_by_label("I have looked at blog").check()
    async with page.expect_navigation():
        await page.get_by_role("button", name="Send this article again").click()
    assert "Is this article there?" not in await page.inner_text("main")
