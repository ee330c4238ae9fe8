"""Audits with a real orchestrator: findings in words, remedies that happen once, and refusals without the right."""

from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from chassis.database.pool import Connections
from chassis.http.callers import Scope
from chassis.testing import eventually
from console.audits.views import finding_at, groups_of
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.article_workflow.store import insert_content
from writing import Article

AUDITS = "/b/acme/audits"
HOSTILE = "<img src=x onerror=window.hit=1>"


async def put_findings(database_url: str, console: Any) -> None:
    """A stale article, one that is nearly the same, a draft that waits, and a keyword without an article."""
    await console.orchestrator.submit_keywords("acme", b"water hardness", content_type="text/plain")

    async def ended() -> bool:
        # Research gives the keyword a reason of its own, which must not come after the one below.
        cycles = (await console.orchestrator.list_cycles(brand="acme"))["items"]
        return all(each["state"] == "failed" for each in cycles)

    await eventually(ended)
    connections = Connections(database_url, name="test", size=2)
    await connections.open()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        database = Database(connections, relay, "orchestrator", CATALOGUE)
        async with database.transaction() as tx:
            for slug, held in (("old", ()), ("copy", ()), ("draft", ("231 words",))):
                await insert_content(
                    tx.connection,
                    content_id=new_event_id(),
                    brand_slug="acme",
                    keyword=f"cold brew {slug}",
                    research_id=new_event_id(),
                    article=Article(
                        slug=slug,
                        title=f"Cold brew {slug} {HOSTILE}",
                        meta_description="",
                        body_markdown="## A\n\nIt is steeped.\n",
                        word_count=3,
                        key_points=("It is steeped.",),
                        cited=(),
                    ),
                    sources=(),
                    held_for=held,
                    fingerprint=frozenset() if held else frozenset(range(100)),
                )
            for statement in (
                "update content set published_url = 'https://acme.example/' || slug where keyword <> 'cold brew draft'",
                "update content set created_at = now() - interval '200 days' where keyword = 'cold brew old'",
                "update content set created_at = now() - interval '8 days' where keyword = 'cold brew draft'",
                "update keywords set state = 'refused', moved_at = now(), reason = 'no_sources: nothing <b>on it'",
            ):
                await tx.connection.execute(statement)
    finally:
        await connections.close()


def finding(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "subject": "old",
        "id": "1",
        "address": "javascript:alert(1)",
        "since": "2027-03-01T00:00:00Z",
        "advice": "x",
        **more,
    }


def test_findings_stand_by_kind_with_what_the_person_may_do() -> None:
    audit = {
        "cut": ["stale_article"],
        "findings": [
            finding("stale_article"),
            finding("stale_article", cycle_id="c"),
            finding("dead_link", address="https://gone.example/"),
            finding("near_duplicate"),
        ],
    }
    shown = groups_of(audit, "acme", frozenset({Scope.READ, Scope.SUBMIT}))
    assert [(each.kind, each.is_cut) for each in shown] == [
        ("stale_article", True),
        ("dead_link", False),
        ("near_duplicate", False),
    ]
    lines = [line for group in shown for line in group.lines]
    assert [(line.remedy, line.is_under_way, line.outside) for line in lines] == [
        ("rewrite", False, None),
        ("", True, None),
        ("", False, "https://gone.example/"),
        ("", False, None),
    ]
    assert lines[0].page == "/b/acme/articles/1"
    assert finding_at(audit, "2") == audit["findings"][2]
    assert [finding_at(audit, number) for number in ("4", "-1", "", "9999999")] == [None] * 4


@pytest.mark.extended
async def test_a_brand_is_audited_and_mended_once(
    console: Any, acme: None, person: httpx.AsyncClient, orchestrator_database_url: str
) -> None:
    assert "No audit yet" in (await person.get(AUDITS)).text
    await put_findings(orchestrator_database_url, console)
    made, again = [await person.post(AUDITS, data={"once": "a1"}) for _ in range(2)]
    assert made.headers["location"] == again.headers["location"]
    assert len((await console.orchestrator.list_audits("acme"))["items"]) == 1
    shown = (await person.get(made.headers["location"])).text
    assert HOSTILE not in shown
    assert "Nothing &lt;b&gt;on it" in shown
    address = made.headers["location"].partition("?")[0]
    found = (await console.orchestrator.get_audit("acme", address.rpartition("/")[2]))["findings"]
    places = {each["kind"]: place for place, each in enumerate(found)}
    assert set(places) == {"stale_article", "near_duplicate", "draft_waiting", "keyword_without_article"}

    async def mend(kind: str) -> httpx.Response:
        form = {"once": kind, "finding": str(places.get(kind, 99))}
        return await person.post(f"{address}/remedy", data=form)

    for kind, word in (
        ("stale_article", "rewrite"),
        ("keyword_without_article", "submit"),
        ("near_duplicate", "take_down"),
    ):
        for _ in range(2):
            assert (await mend(kind)).headers["location"] == f"{address}?done={word}"
    cycles = (await console.orchestrator.list_cycles(brand="acme"))["items"]
    assert len(cycles) == 3, "the first, one that rewrites, and the one that was submitted again"
    copy = found[places["near_duplicate"]]["id"]
    assert (await console.orchestrator.get_draft(copy))["state"] == "taken_down"
    assert [(await mend(kind)).status_code for kind in ("draft_waiting", "dead_letter")] == [404, 404]


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, another: Any, orchestrator_database_url: str
) -> None:
    await put_findings(orchestrator_database_url, console)
    audit = await console.orchestrator.audit_brand("acme")
    address = f"{AUDITS}/{audit['audit_id']}"
    async with another("viewer") as eve:
        assert (
            "the right “submit”, which your role (viewer) does not have"
            in (await eve.get("/b/acme/audits")).text
        )
        for path in (AUDITS, address):
            shown = (await eve.get(path)).text
            assert "Articles whose research is old" in shown
            assert f'action="{AUDITS}' not in shown
            for right in ("submit", "review"):
                lacks = f"the right “{right}”, which your role (viewer) does not have"
                assert shown.count(lacks) == 1, (path, right)
        assert (await eve.post(AUDITS, data={"once": "x"})).status_code == 403
        assert (await eve.post(f"{address}/remedy", data={"once": "y", "finding": "0"})).status_code == 403
    assert len((await console.orchestrator.list_cycles(brand="acme"))["items"]) == 1


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_audits_in_a_browser_and_axe_finds_nothing(
    console: Any,
    acme: None,
    signed_in: Page,
    orchestrator_database_url: str,
    page_checks: Any,
    width: int,
) -> None:
    page = signed_in
    await put_findings(orchestrator_database_url, console)
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + AUDITS)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Audit this brand now").click()
    made = page.url.partition("?")[0].removeprefix(console.url)
    async with page.expect_navigation():
        await page.get_by_role("button", name="anew").click()
    assert "The article is being written anew." in await page.inner_text("main")
    for path in (AUDITS, made):
        await page.goto(console.url + path)
        assert await page.evaluate("window.hit") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert await page_checks.accessibility(page) == [], path
