"""The notifier sends each changed address once, for brands with IndexNow on, with the key that the site serves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from fakes import serving
from fakes.sites.indexnow import FakeIndexNow
from gateway.accounts.kind import refusal
from gateway.accounts.kinds import KINDS
from gateway.accounts.requests import AccountRequest
from messaging import Database
from publisher import store
from publisher.api import create_api
from publisher.domain import Article, BrandSlug, SiteSettings
from publisher.http_api import create_app
from publisher.indexnow import store as store_of_changes
from publisher.indexnow.notifier import IndexNowNotifier, is_public, pause_after
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from receipts import AccountResponse, AccountSummary, EffectsGateway
from receipts.testing import DirectGateway

KEY = "test-service-key-0123456789"
GRIND = BrandSlug("daily-grind")
ROUTE = "/v1/brands/daily-grind/site/indexnow"
ORIGIN = "https://articles.acme-press.com"


class CheckedDoor(DirectGateway):
    async def _ask(self, name: str, asked: Any, seconds: float) -> AccountResponse:
        found = refusal(
            KINDS["indexnow"].allowed_requests, AccountRequest.model_validate(asked).request(), None
        )
        assert not isinstance(found, str), found
        return await super()._ask(name, asked, seconds)


@dataclass
class Web:
    database: Database
    engine: FakeIndexNow
    publication: Callable[..., RenderedArticle]
    api: httpx.AsyncClient
    accounts: list[AccountSummary] = field(default_factory=list)
    origin: str = ORIGIN

    @property
    def notifier(self) -> IndexNowNotifier:
        door = CheckedDoor({"engines": self.engine.url}, accounts=tuple(self.accounts))
        return IndexNowNotifier(self.database, cast("EffectsGateway", door), SiteUrls.under(self.origin))

    async def publish(self, **changes: Any) -> Article:
        publication = self.publication(**changes)
        async with self.database.transaction() as tx:
            await store.publish(tx.connection, publication)
        return publication.article

    async def turn_on(self) -> str:
        """The path of the key, which engines find on the web from now on."""
        shown = (await self.api.put(ROUTE)).json()
        path = str(shown["key_url"]).removeprefix(ORIGIN)
        found = await self.api.get(path)
        assert found.status_code == 200, found.text
        self.engine.files[shown["key_url"]] = found.text
        return path

    async def let_time_pass(self) -> None:
        async with self.database.connection() as connection:
            await connection.execute("update changed_addresses set due_at = due_at - interval '2 days'")

    async def told(self) -> list[str]:
        """The next notification that engines receive."""
        await self.let_time_pass()
        before = len(self.engine.accepted)
        count = await self.notifier.notify_engines()
        addresses = [each.text.removeprefix(ORIGIN) for each in self.engine.accepted[before:]]
        assert len(addresses) == count
        return sorted(addresses)

    async def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api.get(ROUTE)).json()
        return found


@pytest.fixture
async def web(database: Database, publication: Callable[..., RenderedArticle]) -> AsyncIterator[Web]:
    urls = SiteUrls.under(ORIGIN)
    sites = create_app(database, urls, articles_per_page=2)
    app = create_api(database, ServiceKey(SecretStr(KEY)), urls, sites=sites)
    transport = httpx.ASGITransport(app)
    async with (
        serving(FakeIndexNow()) as engine,
        httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"X-Service-Key": KEY}) as api,
    ):
        connected = AccountSummary("engines", "indexnow", label="", state="ok")
        yield Web(database, cast("FakeIndexNow", engine), publication, api, [connected])


async def test_each_change_is_told_once_and_nothing_that_changed_nothing(web: Web) -> None:
    await web.publish(slug="before-it-was-on")
    assert await web.told() == []
    key = await web.turn_on()
    assert (await web.api.put(ROUTE)).json()["key_url"] == f"{ORIGIN}{key}"
    assert await web.told() == []

    await web.publish(slug="cold-brew")
    content_id = str((await web.publish(slug="moka-pot")).content_id)
    assert await web.notifier.notify_engines() == 0, "changes that follow each other are told of together"
    assert await web.told() == ["/sites/daily-grind/cold-brew", "/sites/daily-grind/moka-pot"]
    assert await web.told() == []
    (first,) = [each.json() for each in web.engine.requests]
    assert (first["host"], first["keyLocation"]) == ("articles.acme-press.com", f"{ORIGIN}{key}")
    assert (await web.shown())["told_at"]

    same = {"content_id": content_id, "slug": "moka-pot"}
    await web.publish(**same, updated_at="2026-01-02T10:00:00Z")
    assert await web.told() == [], "the same again is no change"
    moved = await web.publish(**(same | {"slug": "moka"}), updated_at="2026-01-03T10:00:00Z")
    assert await web.told() == ["/sites/daily-grind/moka", "/sites/daily-grind/moka-pot"]
    down = moved.model_copy(update={"updated_at": moved.updated_at + timedelta(days=1)})
    async with web.database.transaction() as tx:
        await store.take_down(tx.connection, down)
    assert await web.told() == ["/sites/daily-grind/moka"]
    async with web.database.transaction() as tx:
        await store.delete(tx.connection, moved.content_id, GRIND)
    assert await web.told() == ["/sites/daily-grind/moka"]

    assert (await web.api.delete(ROUTE)).status_code == 204
    await web.publish(slug="unwanted")
    assert await web.told() == []
    assert (await web.api.get(key)).status_code == 404
    assert await web.turn_on() != key


async def test_a_site_at_an_address_of_its_own_has_its_key_there(web: Web) -> None:
    await web.publish()
    async with web.database.transaction() as tx:
        await site_settings.save(tx.connection, GRIND, SiteSettings(address="https://blog.acme-coffee.com"))
    shown = (await web.api.put(ROUTE)).json()
    path = shown["key_url"].removeprefix("https://blog.acme-coffee.com")
    found = await web.api.get(path, headers={"Host": "blog.acme-coffee.com"})
    assert (found.status_code, path) == (200, f"/{found.text}.txt")
    web.engine.files[shown["key_url"]] = found.text
    await web.publish(slug="moka-pot")
    assert await web.told() == ["https://blog.acme-coffee.com/moka-pot"]


async def test_what_cannot_be_told_is_told_later_says_why_and_ends(web: Web) -> None:
    await web.turn_on()
    await web.publish(slug="cold-brew")
    connected, files = [*web.accounts], dict(web.engine.files)
    for broken, says in (
        (web.accounts.clear, "brandctl accounts connect indexnow"),
        (lambda: web.engine.faults.inject("limited"), "too often"),
        (lambda: web.engine.faults.inject("reset_after"), ""),
        (web.engine.files.clear, "reachable there from outside"),
    ):
        broken()
        accepted = len(web.engine.accepted)
        await web.let_time_pass()
        assert await web.notifier.notify_engines() == 0
        shown = await web.shown()
        assert shown["waiting"] == 1
        assert says in shown["problem"]
        assert shown["problem"]
        assert await web.notifier.notify_engines() == 0, "not before its time"
        web.accounts[:] = connected
        if says:
            assert len(web.engine.accepted) == accepted
    web.engine.files.update(files)
    assert await web.told() == ["/sites/daily-grind/cold-brew"]
    assert (await web.shown())["problem"] == ""

    web.origin = "http://brand-engine.localhost"
    await web.publish(slug="moka-pot")
    for _ in range(6):
        assert (await web.shown())["waiting"] == 1
        assert await web.told() == []
    shown = await web.shown()
    assert (shown["waiting"], "public address" in shown["problem"]) == (0, True)


async def test_two_replicas_tell_of_each_address_once_and_a_change_meanwhile_once_more(web: Web) -> None:
    await web.turn_on()
    articles = [await web.publish(slug=f"brew-{number}") for number in range(5)]
    await web.let_time_pass()
    assert sum(await asyncio.gather(*(web.notifier.notify_engines() for _ in range(3)))) == 5
    assert len({each.text for each in web.engine.accepted}) == len(web.engine.accepted) == 5

    again = {"content_id": str(articles[0].content_id), "slug": "brew-0"}
    await web.publish(**again, title="Colder", updated_at="2026-02-01T10:00:00Z")
    await web.let_time_pass()
    async with web.database.transaction() as tx:
        batch = await store_of_changes.claim(tx.connection, most=10, hold=timedelta(minutes=5))
    assert batch is not None
    await web.publish(**again, title="Coldest", updated_at="2026-03-01T10:00:00Z")
    async with web.database.transaction() as tx:
        await store_of_changes.delete_batch(tx.connection, batch)
    assert await web.told() == ["/sites/daily-grind/brew-0"]
    assert await web.told() == []


@pytest.mark.parametrize(
    ("origin", "public"),
    [
        ("https://blog.acme-coffee.com", True),
        ("https://xn--caf-dma.fr:8443", True),
        ("http://localhost:8012", False),
        ("http://sites.brand-engine.localhost", False),
        ("http://10.0.0.7", False),
        ("http://[::1]:8012", False),
        ("http://printer.local", False),
        ("http://intranet", False),
    ],
)
def test_engines_are_told_of_public_sites_alone(origin: str, public: bool) -> None:
    assert is_public(origin) is public


def test_pauses_grow_and_end() -> None:
    pauses = [pause_after(attempts) for attempts in range(1, 7)]
    assert pauses == [*(timedelta(minutes=5 * 4**number) for number in range(5)), None]
