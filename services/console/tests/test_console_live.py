"""The streams of live updates: their contents and their ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from chassis import Connections
from chassis.testing import ServerProxy, TcpProxy, eventually, running
from console.app import ConsoleApp
from console.settings import Settings
from console.watching.pages import LivePage, WatchedAddress

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"


class LiveReader:
    """A tab's stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()
        self.last_id = ""

    async def next(self, *wanted: str) -> str:
        """The data of the next event with one of the names; an empty text at the end of the stream."""
        name = ""
        async with asyncio.timeout(60):
            async for line in self._lines:
                field, _, value = line.partition(": ")
                if field == "id":
                    self.last_id = value
                elif field == "event":
                    name = value
                elif field == "data" and name in wanted:
                    return value
        return ""


@asynccontextmanager
async def stream(person: httpx.AsyncClient, page: str, seen: str = "") -> AsyncIterator[LiveReader]:
    headers = {"Last-Event-ID": seen} if seen else {}
    async with person.stream("GET", "/live", params={"page": page}, headers=headers) as answer:
        yield LiveReader(answer)


async def make_brand(console: Any) -> None:
    await console.orchestrator.set_brand("grind", name="Daily Grind")


@pytest.mark.extended
async def test_a_tab_hears_of_a_change_and_a_tab_that_was_hidden_of_what_it_missed(
    console: Any, person: httpx.AsyncClient
) -> None:
    await make_brand(console)
    async with stream(person, "/b/grind/keywords") as tab:
        assert tab.answer.status_code == 200
        assert tab.answer.headers["content-type"].startswith("text/event-stream")
        assert tab.answer.headers["x-accel-buffering"] == "no"
        assert await tab.next("changed") == "page"
        await console.orchestrator.submit_keywords("grind", b"pour over", content_type="text/plain")
        assert await tab.next("changed") == "page"
        seen = tab.last_id
    # What changes while the tab is hidden is said when it comes back, and only then.
    await console.orchestrator.submit_keywords("grind", b"cold brew", content_type="text/plain")
    async with stream(person, "/b/grind/keywords", seen) as tab:
        assert await tab.next("changed") == "page"
        assert tab.last_id != seen


@pytest.mark.extended
async def test_a_stream_ends_with_its_session(console: Any, person: httpx.AsyncClient) -> None:
    async with stream(person, "/") as tab:
        assert await tab.next("changed") == "page"
        await person.post("/sign-out")
        assert await tab.next("ended") == "session"
        assert await tab.next("changed") == ""
    async with stream(person, "/") as tab:
        assert tab.answer.status_code == 401


@pytest.mark.extended
async def test_others_brands_and_addresses_elsewhere_are_not_watched(console: Any) -> None:
    await make_brand(console)
    await console.orchestrator.set_brand("other", name="Other")
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as bound:
        link = await console.invite("Bea", "viewer", ["other"])
        await bound.post(link, data={"name": "Bea", "password": PASSWORD})
        for page in ("/b/grind/keywords", "//elsewhere.example/", "https://elsewhere.example/"):
            answer = await bound.get("/live", params={"page": page})
            assert answer.status_code == 404, page


@pytest.mark.extended
async def test_streams_are_bounded_read_once_and_end_with_the_process(
    service_urls: dict[str, str], console: Any
) -> None:
    settings = {
        "database_url": console.database_url,
        "service_key": KEY,
        "http_port": 0,
        "live_streams_per_person": 3,
        "console_url": "http://127.0.0.1:8016/console",
        **service_urls,
    }
    app = ConsoleApp(Settings.model_validate(settings))
    async with running(app):
        url = f"http://127.0.0.1:{app.port}/console"
        async with httpx.AsyncClient(
            base_url=url, headers={"Origin": f"http://127.0.0.1:{app.port}"}, timeout=60, trust_env=False
        ) as person:
            link = await console.invite("Ada")
            await person.post(f"/start/{link.rpartition('/')[2]}", data={"name": "Ada", "password": PASSWORD})
            async with (
                stream(person, "/") as first,
                stream(person, "/") as second,
                stream(person, "/") as third,
            ):
                tabs = (first, second, third)
                assert [await tab.next("changed") for tab in tabs] == ["page"] * 3
                assert app.pages.state.console.live.polls == 1
                refused = await person.get("/live", params={"page": "/"})
                assert refused.status_code == 429
                assert "Too many tabs" in refused.text
                app.stop()
                assert [await tab.next("changed", "ended") for tab in tabs] == [""] * 3
    assert app.pages.state.console.live.polls == 0


@pytest.mark.extended
async def test_people_with_the_same_rights_share_a_reading_which_goes_on_without_one_of_them(
    console: Any,
) -> None:
    await make_brand(console)
    async with AsyncExitStack() as open_until_the_end:
        tabs, keys = [], []
        for name, role in (("Bea", "viewer"), ("Cid", "viewer"), ("Dot", "editor")):
            person = await open_until_the_end.enter_async_context(
                httpx.AsyncClient(
                    base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
                )
            )
            link = await console.invite(name, role, ["grind"])
            await person.post(link, data={"name": name, "password": PASSWORD})
            tabs.append(await open_until_the_end.enter_async_context(stream(person, "/b/grind/keywords")))
            found = (await console.api.get("/v1/people")).json()["items"]
            keys.append(next(each["key_id"] for each in found if each["name"] == name))
            assert await tabs[-1].next("changed") == "page"
        # The page and the counts, once for both viewers and once for the editor.
        assert console.pages.state.console.live.polls == 4
        await console.orchestrator.revoke_key(keys[0])
        assert await tabs[0].next("ended") == "session"
        await console.orchestrator.submit_keywords("grind", b"pour over", content_type="text/plain")
        assert await tabs[1].next("changed", "ended") == "page"


@asynccontextmanager
async def another_console(
    console: Any, service_urls: dict[str, str], **settings: Any
) -> AsyncIterator[tuple[ConsoleApp, httpx.AsyncClient]]:
    """A second process on the same database, with its own settings, and a person who is signed in there."""
    values = {"database_url": console.database_url, "service_key": KEY, "http_port": 0, **service_urls}
    app = ConsoleApp(Settings.model_validate(values | settings))
    async with running(app):
        url = f"http://127.0.0.1:{app.port}"
        async with httpx.AsyncClient(
            base_url=url, headers={"Origin": url}, timeout=60, trust_env=False
        ) as person:
            link = await console.invite("Ada")
            signed_in = await person.post(
                f"/start/{link.rpartition('/')[2]}", data={"name": "Ada", "password": PASSWORD}
            )
            assert signed_in.status_code == 303, signed_in.text
            yield app, person


async def watches(person: httpx.AsyncClient, page: str) -> bool:
    """Whether a tab gets live updates, up to the first one."""
    async with stream(person, page) as tab:
        return tab.answer.status_code == 200 and await tab.next("changed") == "page"


@pytest.mark.extended
async def test_while_the_database_is_away_a_new_stream_is_refused_for_now_and_an_open_one_goes_on(
    service_urls: dict[str, str], console: Any
) -> None:
    await make_brand(console)
    keywords = "/b/grind/keywords"
    async with (
        ServerProxy(console.database_url) as proxy,
        another_console(console, service_urls, database_url=proxy.url) as (_, person),
        stream(person, keywords) as tab,
    ):
        assert await tab.next("changed") == "page"
        proxy.cut()
        refused = await person.get("/live", params={"page": keywords})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        assert "The console's database is away." in refused.text
        proxy.mend()
        await eventually(lambda: watches(person, keywords))
        await console.orchestrator.submit_keywords("grind", b"pour over", content_type="text/plain")
        assert await tab.next("changed", "ended") == "page"


@pytest.mark.extended
async def test_while_all_connections_are_in_use_a_new_stream_is_refused_for_now(
    service_urls: dict[str, str], console: Any
) -> None:
    async with another_console(console, service_urls, database_connections=2) as (app, person):
        async with app.connections.connection(), app.connections.connection():
            refused = await person.get("/live", params={"page": "/"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        assert await watches(person, "/")


@pytest.mark.extended
async def test_a_service_that_is_away_ends_no_stream_and_its_page_is_said_to_be_another(
    service_urls: dict[str, str], console: Any
) -> None:
    await make_brand(console)
    keywords = "/b/grind/keywords"
    port = urlsplit(service_urls["orchestrator_url"]).port or 0
    async with (
        TcpProxy("127.0.0.1", port) as proxy,
        another_console(console, {**service_urls, "orchestrator_url": f"http://127.0.0.1:{proxy.port}"}) as (
            _,
            person,
        ),
        stream(person, keywords) as tab,
    ):
        assert await tab.next("changed") == "page"
        proxy.cut()
        assert await tab.next("changed", "ended") == "page"
        assert await watches(person, keywords)
        assert "The service “orchestrator” does not answer" in (await person.get(keywords)).text
        proxy.mend()
        assert await tab.next("changed", "ended") == "page"
        assert "does not answer" not in (await person.get(keywords)).text


@pytest.mark.extended
async def test_one_tab_more_than_a_process_may_have_is_refused_until_another_leaves(
    service_urls: dict[str, str], console: Any
) -> None:
    async with (
        another_console(console, service_urls, live_streams=2) as (_, person),
        stream(person, "/") as first,
    ):
        async with stream(person, "/") as second:
            assert [await tab.next("changed") for tab in (first, second)] == ["page"] * 2
            refused = await person.get("/live", params={"page": "/"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
            assert "As many tabs as this console can serve" in refused.text
        await eventually(lambda: watches(person, "/"))


@pytest.mark.parametrize(
    ("address", "brand", "is_live"),
    [
        ("/", None, True),
        ("/b/acme/keywords?state=refused", "acme", True),
        ("/b/acme/keywords/", "acme", False),
        ("/b/acme/drafts", "acme", False),
        ("/me", None, False),
    ],
)
def test_addresses(address: str, brand: str | None, is_live: bool) -> None:
    async def read(*_: object, **__: object) -> None: ...

    pages = (
        LivePage("/", read),
        LivePage("/b/{brand}/keywords", read),
        LivePage("/b/{brand}/keywords/{id}", read),
    )
    found = WatchedAddress.of(address, pages, Connections("", name="none"))
    assert found is not None
    assert (found.brand, found.page is not None, found.counts is not None) == (brand, is_live, bool(brand))
