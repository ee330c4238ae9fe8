"""The pictures of README.md and docs/console.md, of an installation as a small team would have it; `make pictures` renews them.

Without PICTURES, the folder to write to, they are made all the same, and forgotten.
"""

import base64
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

import asyncpg
import pytest
from playwright.async_api import Page, Route
from yarl import URL

from brandctl.local import services
from chassis.testing import eventually
from client import Address
from client.services.gateway import AsyncGateway
from client.services.monitor import AsyncMonitor
from client.services.orchestrator import AsyncOrchestrator
from client.services.publisher import AsyncPublisher
from client.services.research import AsyncResearch
from client.services.social import AsyncSocial
from envelope import new_event_id
from messaging import headers as header
from messaging.testing import Broker

ROOT: Final = Path(__file__).parents[4]
KEY: Final = "test-service-key-0123456789"
PASSWORD: Final = "correct horse battery staple"
BRAND: Final = "harbor-coffee"
HERE: Final = f"/b/{BRAND}"
MOST_BYTES: Final = 150_000
QUALITY: Final = 76
PUBLISHED: Final = ("cold brew coffee", "pour-over coffee", "mortgage refinancing")
WAITING: Final = ("grind size", "roast levels", "french press")
DESKTOP: Final = (1280, 800)
PHONE: Final = (390, 780)
HALF: Final = (620, 780)
"""A window that shares the screen with another."""
_ALWAYS_THE_SAME: Final = r"""() => {
    // What was a moment ago is so at another time whenever the pictures are made.
    const times = [...document.querySelectorAll('time[datetime]:not(.clock)')], now = Date.now();
    const moments = [...new Set(times.map((each) => each.dateTime))].sort();
    for (const each of times) {
        const at = moments.indexOf(each.dateTime), isAhead = new Date(each.dateTime) > now;
        // As finely as the page writes it.
        const finer = each.textContent.match(/\d:\d\d(:\d\d(\.\d+)?)?/)?.[1] ?? '';
        const seconds = finer && `:${String(at % 60).padStart(2, '0')}${finer.includes('.') ? '.000' : ''}`;
        const minute = finer ? 30 : at % 60;
        each.textContent = `${isAhead ? 4 : 3} Mar 2026, ${isAhead ? 10 : 9}:${String(minute).padStart(2, '0')}${seconds}`;
    }
    for (const each of document.querySelectorAll('code')) {
        each.textContent = each.textContent.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '018f3a6e-7c1d-7b52-9f40-2a6d8e1c5b07');
    }
    window.scrollTo(0, window.scrollY);
}"""


class Picture(NamedTuple):
    name: str
    address: str
    size: tuple[int, int] = DESKTOP
    scheme: Literal["light", "dark"] = "light"
    click: str = ""
    """What is pressed before."""
    top: str = ""
    """What stands at the top."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = Path(os.environ.get("PICTURES") or tmp_path / "pictures")
    found.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture
def corpus() -> Path:
    """The sample documents, as they are."""
    return ROOT / "deploy" / "demo" / "corpus"


@pytest.fixture
def service_urls(stack: services.ServiceAddresses) -> dict[str, str]:
    return {f"{name}_url": stack.url(name) for name in (*services.NAMES, "gateway")}


async def _wait_for(orchestrator: AsyncOrchestrator, states: set[str], count: int) -> None:
    async def ended() -> bool:
        found = (await orchestrator.search_for_keywords(brand=BRAND))["items"]
        return len(found) == count and {each["state"] for each in found} <= states

    await eventually(ended, within=240)


async def _fail_for_good(broker_url: str, monitor: AsyncMonitor, article: Mapping[str, Any]) -> None:
    """Has the publisher bring an article to the site of another brand, which it refuses, and waits until that is recorded."""
    message = {
        "event_id": str(new_event_id()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": datetime.now(UTC).isoformat(),
        "correlation_id": str(new_event_id()),
        "payload": {
            "brand_slug": "northside-bakery",
            "content_id": article["content_id"],
            "target": "site",
        },
    }
    async with Broker.connected(broker_url) as broker:
        await broker.publish(
            "commands", "publisher-commands", json.dumps(message).encode(), user_id=URL(broker_url).user
        )

    async def recorded() -> bool:
        return bool((await monitor.list_dead_letters())["items"])

    await eventually(recorded)


async def _wait_for_another_attempt(database_url: str) -> None:
    """Has messages of the publisher wait, as for a server that does not answer."""
    failure = {
        header.ATTEMPT: 3,
        header.FAILURE_TYPE: "ConnectionError",
        header.FAILURE_MESSAGE: "https://blog.harbor.example/wp-json/wp/v2/posts: the server answers 503",
    }
    later = datetime.now(UTC) + timedelta(hours=1)
    connection = await asyncpg.connect(database_url)
    try:
        await connection.executemany(
            """
            insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at)
            values ($1, 'returns', 'publisher-commands', $2, 'content.publish', $3, $4, $5, $6, $6)
            """,
            [
                (
                    uuid4(),
                    new_event_id(),
                    str(new_event_id()),
                    json.dumps({"payload": {"brand_slug": BRAND, "target": "wordpress"}}).encode(),
                    json.dumps(failure),
                    later + timedelta(minutes=number),
                )
                for number in range(3)
            ],
        )
    finally:
        await connection.close()


@pytest.fixture
async def harbor(
    console: Any,
    stack: services.ServiceAddresses,
    broker_urls: dict[str, str],
    database_urls: dict[str, str],
) -> AsyncIterator[AsyncSocial]:
    """A brand in the middle of its week."""
    orchestrator: AsyncOrchestrator = console.orchestrator
    async with (
        AsyncSocial(Address(stack.url("social"), KEY)) as social,
        AsyncResearch(Address(stack.url("research"), KEY)) as research,
        AsyncPublisher(Address(stack.url("publisher"), KEY)) as publisher,
        AsyncGateway(Address(stack.url("gateway"), KEY)) as gateway,
        AsyncMonitor(Address(stack.url("monitor"), KEY)) as monitor,
    ):
        about: dict[str, Any] = {
            "name": "Harbor Coffee",
            "description": "A roastery by the sea. We write for people who make coffee at home.",
            "audience": "People who make coffee at home",
            "channels": ["feed", "webhook"],
            "posts_approval": "everything",
        }
        await gateway.connect_account(
            "harbor-hook",
            kind="webhook",
            brands=[BRAND],
            settings={"url": "https://hooks.harbor.example/posts"},
            credentials={},
        )
        await orchestrator.set_brand(BRAND, **about)
        await orchestrator.set_brand("northside-bakery", name="Northside Bakery")
        await research.set_sources(BRAND, folder=True)
        await publisher.update_site_settings(BRAND, extra={"accent": "#1f6154"})
        await orchestrator.submit_keywords(BRAND, "\n".join(PUBLISHED).encode(), content_type="text/plain")
        await _wait_for(orchestrator, {"completed", "refused"}, len(PUBLISHED))
        published = (await orchestrator.search_for_articles(brand=BRAND))["items"]
        await _fail_for_good(broker_urls["orchestrator"], monitor, published[0])
        await _wait_for_another_attempt(database_urls["publisher"])
        await orchestrator.set_brand(BRAND, **about, approval="everything")
        await orchestrator.submit_keywords(BRAND, "\n".join(WAITING).encode(), content_type="text/plain")
        await _wait_for(orchestrator, {"completed", "refused", "needs_review"}, len(PUBLISHED) + len(WAITING))
        await orchestrator.set_schedule(
            BRAND, "monday", keywords=["moka pot", "storing coffee"], cron="0 9 * * 1"
        )
        await orchestrator.audit_brand(BRAND)

        async def written() -> list[Any] | None:
            found = (await social.list_brand_posts(BRAND, state="waiting"))["items"]
            return found if len(found) >= 4 else None

        posts = await eventually(written)
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        hook = next(each for each in posts if each["channel"] == "webhook")
        await social.approve_post(
            hook["post_id"],
            version=hook["version"],
            publish_at=tomorrow.replace(hour=10, minute=0).isoformat(),
        )
        drafts = (await orchestrator.list_drafts(brand=BRAND))["items"]
        await orchestrator.approve_draft(
            drafts[-1]["content_id"],
            version=drafts[-1]["version"],
            publish_at=tomorrow.replace(hour=9, minute=0).isoformat(),
        )

        async def counted() -> bool:
            return bool((await monitor.get_ledger())["last_24_hours"]["accepted"])

        await eventually(counted, within=240)
        yield social


async def _keep_still(route: Route) -> None:
    """Refuses live updates, which would bring other times into a picture."""
    if "console-live" in route.request.headers:
        await route.abort()
    else:
        await route.continue_()


async def _picture(page: Page, url: str, wanted: Picture) -> bytes:
    await page.set_viewport_size({"width": wanted.size[0], "height": wanted.size[1]})
    await page.emulate_media(color_scheme=wanted.scheme)
    await page.goto(URL(url).join(URL(wanted.address)).human_repr())
    if wanted.click:
        await page.locator(wanted.click).first.click()
        await page.wait_for_load_state("networkidle")
    if wanted.top:
        await page.locator(wanted.top).first.evaluate("(each) => each.scrollIntoView({ block: 'start' })")
    await page.evaluate(_ALWAYS_THE_SAME)
    return await _shot(page)


async def _shot(page: Page) -> bytes:
    """The visible part, as WebP."""
    screen = await page.context.new_cdp_session(page)
    shot = await screen.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    await screen.detach()
    return base64.b64decode(shot["data"])


async def _side_by_side(page: Page, url: str, addresses: tuple[str, str]) -> bytes:
    """Two pages in one picture, as two windows beside each other."""
    shots = [await _picture(page, url, Picture("", address, HALF)) for address in addresses]
    images = "".join(
        f'<img src="data:image/webp;base64,{base64.b64encode(shot).decode()}" style="border: 1px solid #bbb">'
        for shot in shots
    )
    await page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    await page.goto("about:blank")
    await page.set_content(
        f'<body style="margin: 8px; display: flex; justify-content: space-between">{images}'
    )
    await page.wait_for_function("[...document.images].every((each) => each.complete)")
    return await _shot(page)


async def _first(page: Page, url: str, address: str, link: str) -> str:
    """The address of the first thing in a list."""
    await page.goto(url + address)
    found = await page.locator(link).first.get_attribute("href")
    assert found is not None
    return found


@pytest.mark.slow
async def test_the_pictures_of_the_docs_can_be_made(
    console: Any,
    harbor: AsyncSocial,
    new_browser_context: Callable[..., Awaitable[Any]],
    folder: Path,
) -> None:
    context = await new_browser_context(locale="en", reduced_motion="reduce", timezone_id="UTC")
    await context.route("**/*", _keep_still)
    page = await context.new_page()
    url = console.url
    await page.goto(await console.invite("Ada"))
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url(f"{url}/")
    draft = await _first(page, url, f"{HERE}/drafts", "[data-open]")
    post = await _first(page, url, f"{HERE}/posts?state=waiting", "main .list tbody a")
    refused = await _first(page, url, f"{HERE}/keywords?state=refused", "main .list tbody a")
    article = await _first(page, url, f"{HERE}/articles?q=cold+brew", "main .list tbody a")
    letter = await _first(page, url, "/dead-letters", "main a[href*='/dead-letters/']")
    chain = await _first(page, url, f"{HERE}/keywords?q=cold+brew", "main .list tbody a")
    chain = await _first(page, url, chain, "main a[href*='/chains/']")
    pictures = (
        Picture("home", "/"),
        Picture("home-phone", "/", PHONE),
        Picture("brand", HERE),
        Picture("start-here", "/start-here"),
        Picture("keywords", f"{HERE}/keywords"),
        Picture("keyword-refused", refused),
        Picture("drafts", f"{HERE}/drafts"),
        Picture("draft", draft, click="a.sentence"),
        Picture("draft-dark", draft, scheme="dark", click="a.sentence"),
        Picture("draft-phone", draft, PHONE),
        Picture("draft-editor", draft, top="#edit"),
        Picture("article", article),
        Picture("posts", f"{HERE}/posts"),
        Picture("post", post),
        Picture("post-phone", post, PHONE),
        Picture("calendar", f"{HERE}/calendar?view=week"),
        Picture("calendar-phone", f"{HERE}/calendar?view=list", PHONE),
        Picture("accounts", f"{HERE}/accounts"),
        Picture("connect", f"{HERE}/accounts/connect/mastodon"),
        Picture("site", f"{HERE}/site"),
        Picture("sources", f"{HERE}/sources"),
        Picture("audits", f"{HERE}/audits"),
        Picture("settings", f"{HERE}/settings"),
        Picture("money", f"{HERE}/money"),
        Picture("people", "/people"),
        Picture("dead-letters", "/dead-letters"),
        Picture("dead-letter", letter),
        Picture("retries", "/retries?service=publisher"),
        Picture("messages", "/messages"),
        Picture("chain", chain),
        Picture("backbone", "/backbone"),
        Picture("ledger", "/ledger"),
        Picture("doctor", "/doctor"),
    )
    made = {each.name: await _picture(page, url, each) for each in pictures}
    await page.goto(url + article)
    on_site = await page.locator("main a[href*='/sites/']").first.get_attribute("href")
    assert on_site is not None
    made["article-and-posts"] = await _side_by_side(page, url, (on_site, f"{HERE}/posts?q=cold+brew"))
    assert {name: len(image) for name, image in made.items() if len(image) > MOST_BYTES} == {}
    # Each picture shows another page.
    assert len(set(made.values())) == len(made)
    for name, image in made.items():
        (folder / f"{name}.webp").write_bytes(image)
    for document in ("README.md", "docs/console.md"):
        named = re.findall(r"images/console/([\w-]+)\.webp", (ROOT / document).read_text())
        assert set(named) <= made.keys(), f"{document} shows pictures that this test does not make"
