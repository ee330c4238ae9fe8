"""Money with a real gateway: the page shows spending; caps and the switch work once, and need the right."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from chassis import Connection
from client import Address
from client.services.gateway import AsyncGateway
from console.money.views import chart, dollars, typed_dollars
from console.texts import TextCatalogue, Texts
from gateway.app import GatewayApp
from gateway.calls import CallRequest, fingerprint
from gateway.limits import Permit
from gateway.outcomes import AnsweredCall

KEY = "test-service-key-0123456789"
MONEY = "/b/acme/money"
Pay = Callable[[str, str, int], Awaitable[None]]


@pytest.fixture
def pay(gateway: GatewayApp) -> Pay:
    """Makes a call of a brand at a provider, which costs so many micro-dollars."""

    async def made(brand: str, provider: str, spent: int) -> None:
        async def send() -> AnsweredCall:
            return AnsweredCall("an answer", spent, {"tokens": 12})

        async def at_once(_: Connection) -> Permit:
            now = datetime.now(UTC)
            return Permit(now, now, None)

        what = fingerprint(brand, provider, spent)
        subject = "<i>model</i>"
        asked = CallRequest(brand, provider, subject, what, spent, timedelta(seconds=5), timedelta())
        await gateway.paid_calls.execute(asked, send, at_once)

    return made


@pytest.fixture
async def spend(service_urls: dict[str, str]) -> Any:
    async with AsyncGateway(Address(service_urls["gateway_url"], KEY)) as client:
        yield client


def test_amounts_are_written_in_the_readers_language_and_never_rounded_down() -> None:
    en, de = (Texts(TextCatalogue(), language) for language in ("en", "de"))
    assert [dollars(each, en) for each in (0, 125, 1_230_000_001, 1_000_001)] == [
        "$0.00",
        "$0.000125",
        "$1,230.01",
        "$1.01",
    ]
    assert dollars(1_234_500_000, de) == "1.234,50 $"
    assert [typed_dollars(each) for each in ("2,50", "2.5", "")] == ["2.50", "2.5", None]


def test_the_chart_has_a_bar_for_each_day() -> None:
    items = [
        {"day": "2027-03-02", "provider": "brave", "calls": 2, "spent": 10_000, "presumed": 0},
        {"day": "2027-03-02", "provider": "model", "calls": 1, "spent": 30_000, "presumed": 7},
        {"day": "2027-03-03", "provider": "model", "calls": 1, "spent": 10, "presumed": 0},
    ]
    drawn = chart({"begins": "2027-03-01", "today": "2027-03-03", "items": items})
    assert [(each.spent, each.height, each.x) for each in drawn.bars] == [
        (0, 0, 0),
        (40_000, 100, 10),
        (10, 2, 20),
    ]
    assert (drawn.spent, drawn.presumed, drawn.bars[1].providers) == (
        40_010,
        7,
        (("brave", 10_000), ("model", 30_000)),
    )


@pytest.mark.extended
async def test_caps_are_set_and_spending_stops_once(
    acme: None, person: httpx.AsyncClient, pay: Pay, spend: AsyncGateway
) -> None:
    await pay("acme", "model", 1_500_000)
    await pay("acme", "brave", 5_000)
    shown = (await person.get(MONEY)).text
    assert "$1.51" in shown  # 1.505, rounded up
    assert "&lt;i&gt;model" in shown
    caps = {"once": "c1", "day": "2,50", "month": ""}
    saved, again = [await person.post(f"{MONEY}/caps", data=caps) for _ in range(2)]
    assert saved.headers["location"] == again.headers["location"] == f"{MONEY}?done=caps"
    assert (await spend.get_spend(brand="acme"))["scopes"][0]["day"]["cap"] == 2_500_000
    refused = await person.post(f"{MONEY}/caps", data={"once": "c2", "day": "a <b>", "month": ""})
    assert refused.status_code == 422
    assert 'value="a &lt;b&gt;"' in refused.text

    await person.post(f"{MONEY}/stop", data={"once": "s1", "why": "a leak"})
    assert "a leak" in (await person.get(MONEY)).text
    await person.post(f"{MONEY}/resume", data={"once": "r1"})
    await person.post(f"{MONEY}/stop", data={"once": "s1", "why": "a leak"})
    assert (await spend.get_spend(brand="acme"))["scopes"][0]["stopped"] is None, (
        "a second press of the first form"
    )

    await person.post("/money/stop", data={"once": "s2", "why": ""})
    assert "Spending is stopped for all brands." in (await person.get(MONEY)).text
    assert 'href="/b/acme/money"' in (await person.get("/money?q=acm")).text


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    acme: None, another: Any, pay: Pay, spend: AsyncGateway
) -> None:
    await pay("acme", "model", 1_500_000)
    async with another("viewer") as eve:
        shown = (await eve.get(MONEY)).text
        assert "$1.50" in shown
        for path in (MONEY, "/money"):
            for verb in ("caps", "stop", "resume"):
                assert f'action="{path}/{verb}"' not in shown
                refused = await eve.post(f"{path}/{verb}", data={"once": "x", "day": "1"})
                assert refused.status_code == 403, verb
    assert (await spend.get_spend())["scopes"][0]["stopped"] is None


@pytest.mark.extended
async def test_who_is_bound_to_brands_is_told_why_there_is_no_money(acme: None, another: Any) -> None:
    async with another("operator", ["acme"]) as eve:
        for path in (MONEY, "/money"):
            answer = await eve.get(path)
            assert (answer.status_code, "Providers are shared by all brands" in answer.text) == (200, True)
        assert (await eve.post(f"{MONEY}/stop", data={"once": "x"})).status_code == 403


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_stops_spending_in_a_browser_and_axe_finds_nothing(
    console: Any, acme: None, signed_in: Page, pay: Pay, page_checks: Any, width: int
) -> None:
    page = signed_in
    await pay("acme", "a-model-with-a-long-name-that-goes-on", 1_500_000)
    await pay("acme", "brave", 5_000)
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + MONEY)
    await page.get_by_label("A day").fill("5")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save these caps").click()
    assert "of $5.00" in await page.inner_text("main")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Stop spending for this brand").click()
    for path in (MONEY, "/money", "/b/other/money"):
        await page.goto(console.url + path)
        await page.evaluate("document.querySelectorAll('main details').forEach((each) => each.open = true)")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert await page_checks.accessibility(page) == [], path
