"""A newcomer's way: from the link that a terminal prints to the first approved article, in a real browser."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect
from rich.console import Console

from brandctl.local import services
from brandctl.local.folder import LocalFolder
from brandctl.local.stack import LocalStack
from brandctl.local.start_link import console_address
from tests.fixtures import kilns
from tests.fixtures.commands.local_run import LocalRun, local_run
from tests.fixtures.real_servers import real_server

KEY = "a-key-for-tests-only"
PASSWORD = "correct horse battery staple"
SHELVES = "Kiln shelves"
HANDBOOK = f"""# Kilns

{kilns.DEFINITION} {kilns.CONES}

## Loading a kiln

{kilns.LOADING}

{kilns.SHELVES}

## Air and power

{kilns.VENTING}

{kilns.WIRING}
"""
WITHIN_SECONDS = 300
"""What the whole way may take, waits included."""
_PATIENCE_MS = 120_000


class Newcomer:
    """A newcomer who has only the link, and presses the buttons that the pages offer.

    Args:
        page: an empty one.
        link: makes the owner's account.
    """

    brand = "/b/kiln-house"

    def __init__(self, page: Page, link: str) -> None:
        self.page = page
        self.link = link

    async def press(self, button: str | re.Pattern[str]) -> None:
        async with self.page.expect_navigation():
            await self.page.get_by_role("button", name=button).first.click()

    async def follow(self, link: str | re.Pattern[str]) -> None:
        async with self.page.expect_navigation():
            await self.page.get_by_role("link", name=link).first.click()

    async def told(self) -> str:
        return await self.page.inner_text("main")

    async def make_account(self) -> None:
        await self.page.goto(self.link)
        await self.page.get_by_label("Name").fill("Ada")
        await self.page.get_by_label("password").fill(PASSWORD)
        await self.page.locator("main button").click()
        await expect(self.page.locator("main")).to_contain_text("No brand yet")

    async def start_brand(self) -> None:
        await self.follow("Start here")
        await self.page.get_by_label("Name of the brand").fill("Kiln House")
        await self.page.get_by_label("What it is about").fill("Pottery and the kilns that it takes")
        await self.press("Make the brand and begin")
        assert self.brand in self.page.url

    async def upload_handbook(self) -> None:
        await self.follow("Sources")
        assert await self.page.get_by_role("radio", name="The brand's own").is_checked()
        await self.page.set_input_files(
            "input[type=file]",
            {"name": "handbook.md", "mimeType": "text/markdown", "buffer": HANDBOOK.encode()},  # type: ignore[arg-type]
        )
        await expect(self.page.locator("[data-progress]")).to_contain_text("handbook.md is uploaded")

    async def choose_suggestion(self) -> None:
        """Chooses what the handbook treats, which appears once it is read, and watches its article being made."""
        await self.page.goto(self.address("keywords/add"))
        await self.page.get_by_label("Kilns", exact=True).check(timeout=_PATIENCE_MS)
        await self.press("Submit keywords")
        assert "1 keyword is submitted." in await self.told()
        await self.follow("Kilns")
        await expect(self.page.locator("header.head")).to_contain_text("Needs review", timeout=_PATIENCE_MS)

    async def connect_wordpress(self, account: dict[str, Any]) -> None:
        """Connects it by an application password, and has the articles go there, too."""
        user = account["users"]["editor"]
        await self.follow("Accounts")
        await self.follow("Connect WordPress")
        await self.page.get_by_label("Address").fill(account["url"])
        await self.page.get_by_label("User name").fill(user["user"])
        await self.page.locator("[name=secret]").fill(user["password"])
        await self.press("Connect WordPress and test it")
        assert "The account answered and works." in await self.told()
        await self.press("Publish its articles on kiln-house-wordpress, too")
        assert "What is published from now on goes there, too" in await self.told()

    async def approve(self) -> None:
        """Reads the draft, a sentence of it with its passage, and approves it."""
        await self.follow(re.compile("^Drafts"))
        await self.page.locator("main a[href*='/drafts/']").first.click()
        await self.page.wait_for_url("**/drafts/*-*")
        sentence = self.page.locator(".reading a.sentence").first
        await sentence.click()
        await expect(self.page.locator("#evidence-card")).to_contain_text("[1] Kilns")
        await self.press(re.compile("^Approve"))

    async def published_at(self, *places: str) -> dict[str, str]:
        """Waits on the article's page until it is at each of the places; returns their addresses."""
        await self.follow("Articles")
        await self.page.locator("main a[href*='/articles/']").first.click()
        rows = self.page.locator("section[aria-labelledby=places] li")
        found = {}
        for place in places:
            row = rows.filter(has_text=place).first
            address = row.locator("a")
            await expect(address).to_be_visible(timeout=_PATIENCE_MS)
            found[place] = await address.get_attribute("href") or ""
        return found

    def address(self, path: str) -> str:
        return f"{self.link.partition('/start/')[0]}{self.brand}/{path}"


@pytest.fixture
async def page(new_browser_context: Callable[..., Awaitable[Any]]) -> Page:
    context = await new_browser_context(viewport={"width": 1280, "height": 900})
    made: Page = await context.new_page()
    return made


async def read(address: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=60, follow_redirects=True) as reader:
        return await reader.get(address)


@pytest.fixture
async def link(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[str]:
    """The link as `brandctl run` prints it, with all services as processes and an empty folder of documents."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    addresses = services.choose_addresses()
    children = []
    try:
        for name in services.PROCESSES:
            environment = services.environment(
                name,
                addresses=addresses,
                rabbitmq_url=broker_urls.get(name),
                database_url=await make_database(name),
                service_key=KEY,
                corpus=corpus,
            )
            children.append(services.start(name, environment, tmp_path))
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        stack = LocalStack(LocalFolder(tmp_path), Console(quiet=True), addresses, KEY)
        made = await asyncio.to_thread(console_address, stack)
        yield addresses.url("console") + made[made.index("/start/") :]
    finally:
        await asyncio.to_thread(services.stop, children)


@pytest.mark.extended
async def test_from_the_link_to_the_first_approved_article_on_the_built_in_site(
    link: str, page: Page
) -> None:
    newcomer = Newcomer(page, link)
    await newcomer.make_account()
    await newcomer.start_brand()
    await newcomer.upload_handbook()
    await newcomer.choose_suggestion()
    await newcomer.approve()
    found = await newcomer.published_at("site")
    assert "insulated chamber" in (await read(found["site"])).text


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LocalRun]:
    # The operator's configuration alone lets a WordPress of this machine be reached.
    with local_run(tmp_path, "EGRESS_REACHABLE_NETWORKS=127.0.0.1/32") as made:
        yield made


@pytest.fixture
def wordpress() -> Iterator[dict[str, Any]]:
    with contextmanager(real_server)("wordpress") as account:
        yield account


@pytest.mark.real
async def test_from_the_printed_link_to_the_first_approved_article_on_a_wordpress(
    run: LocalRun, wordpress: dict[str, Any], page: Page
) -> None:
    await asyncio.to_thread(run.start)
    newcomer = Newcomer(page, run.printed("Console"))
    began = time.monotonic()
    await newcomer.make_account()
    await newcomer.start_brand()
    await newcomer.upload_handbook()
    await newcomer.choose_suggestion()
    await newcomer.connect_wordpress(wordpress)
    await newcomer.approve()
    found = await newcomer.published_at("site", "kiln-house-wordpress")
    assert found["kiln-house-wordpress"].startswith(wordpress["url"])
    for address in found.values():
        there = await read(address)
        assert there.status_code == 200, address
        assert "insulated chamber" in there.text, address
    took = time.monotonic() - began
    print(f"From the link to the article on a WordPress: {took:.0f} s")  # noqa: T201  (the figure is asked for)
    assert took < WITHIN_SECONDS
