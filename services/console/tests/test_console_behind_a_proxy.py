"""Two replicas on one database, below a path, behind the proxies that people have in front of them."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.async_api import expect

from brandctl.local import ports
from chassis.testing import eventually, running
from client import Address
from client.services.orchestrator import AsyncOrchestrator
from console.app import ConsoleApp
from console.settings import Settings
from tests.fixtures.console.screens import Links, Screens, page_routes

KEY: Final = "test-service-key-0123456789"
PASSWORD: Final = "correct horse battery staple"
BASE: Final = "/the/console"
CADDY: Final = """{
    admin off
    auto_https off
}
http://127.0.0.1:%(port)s {
    handle %(base)s/* {
        reverse_proxy %(one)s %(other)s {
            lb_policy round_robin
        }
    }
}
"""
"""Hands the path on as it is."""
NGINX: Final = """user root;
daemon off;
pid nginx.pid;
error_log nginx.log;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream consoles { server %(one)s; server %(other)s; }
    server {
        listen 127.0.0.1:%(port)s;
        location %(base)s/ { proxy_pass http://consoles/; }
    }
}
"""
"""Takes the path off, changes the host, and keeps answers back unless it is told not to: as it does by itself."""


@dataclass(frozen=True)
class Replicas:
    url: str
    """With the path, at the proxy."""
    apps: tuple[ConsoleApp, ...]
    orchestrator: AsyncOrchestrator
    api: httpx.AsyncClient

    @property
    def origin(self) -> str:
        return self.url.removesuffix(BASE)

    def browser(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self.url, headers={"Origin": self.origin}, timeout=60, trust_env=False
        )

    async def invite(self, name: str) -> str:
        scopes: Any = ["read", "submit", "review", "operate", "repair", "admin"]
        made = await self.orchestrator.create_key(name=name.lower(), scopes=scopes, per_minute=6000)
        body = {"name": name, "role": "owner", "key": made["key"]}
        answer = await self.api.post("/v1/people/invitations", json=body)
        assert answer.status_code == 201, answer.text
        link: str = answer.json()["url"]
        return link


@pytest.fixture(params=["caddy", pytest.param("nginx", marks=pytest.mark.real)])
async def replicas(
    request: pytest.FixtureRequest,
    make_database: Callable[[str], Awaitable[str]],
    service_urls: dict[str, str],
    free_port: Callable[[], int],
    tmp_path: Path,
) -> AsyncIterator[Replicas]:
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"needs {request.param}")
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    settings = {
        "database_url": await make_database("console"),
        "service_key": KEY,
        "http_port": 0,
        "console_url": f"{origin}{BASE}",
        "live_seconds": 0.2,
        **service_urls,
    }
    async with AsyncExitStack() as stack:
        apps = tuple(
            [
                await stack.enter_async_context(running(ConsoleApp(Settings.model_validate(settings))))
                for _ in range(2)
            ]
        )
        one, other = (f"127.0.0.1:{app.port}" for app in apps)
        template = CADDY if request.param == "caddy" else NGINX
        config = tmp_path / "config"
        config.write_text(template % {"port": port, "base": BASE, "one": one, "other": other})
        command = {
            "caddy": ["run", "--config", str(config), "--adapter", "caddyfile"],
            "nginx": ["-p", str(tmp_path), "-c", str(config)],
        }[request.param]
        folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
        proxy = await asyncio.create_subprocess_exec(
            program,
            *command,
            env={"PATH": os.environ["PATH"], **folders},
            stderr=stack.enter_context((tmp_path / "proxy.log").open("w")),
        )
        try:
            await eventually(partial(ports.accepts, port))
            yield Replicas(
                f"{origin}{BASE}",
                apps,
                await stack.enter_async_context(
                    AsyncOrchestrator(Address(service_urls["orchestrator_url"], KEY))
                ),
                await stack.enter_async_context(
                    httpx.AsyncClient(
                        base_url=f"http://{one}", headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
                    )
                ),
            )
        finally:
            proxy.terminate()
            await proxy.wait()


async def sign_in(replicas: Replicas, person: httpx.AsyncClient) -> None:
    async def is_open() -> bool:
        try:
            return (await person.get("/sign-in")).status_code == 200
        except httpx.TransportError:
            return False

    await eventually(is_open)
    link = await replicas.invite("Ada")
    assert link.startswith(f"{replicas.url}/start/")
    answer = await person.post(link, data={"name": "Ada", "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{BASE}/")


async def check_pages(replicas: Replicas, person: httpx.AsyncClient) -> None:
    """Every link, form, file and redirect of every page stays below the path."""
    screens = Screens(page_routes(replicas.apps[0].pages), BASE)
    await screens.crawl(person, {"brand": "acme"}, ["/"])
    # Only the orchestrator runs here: a file that needs another service is refused.
    assert not [each for each in screens.broken if ": 5" in each and not each.endswith(": 503")]
    assert {"/", "/me", "/b/{brand}", "/b/{brand}/keywords/{keyword_id}"} <= screens.by_route.keys()
    named = {each for page in screens.texts.values() for each in Links(page.text).addresses}
    files = [each for each in named if "/assets/" in each]
    assert files
    for each in files:
        answer = await person.get(f"{replicas.origin}{each}")
        assert answer.status_code == 200, each
        assert "immutable" in answer.headers["cache-control"]


async def check_stream(replicas: Replicas, person: httpx.AsyncClient) -> None:
    """An event comes while the stream is open, rather than at its end."""
    async with (
        asyncio.timeout(60),
        person.stream("GET", "/live", params={"page": "/b/acme/keywords"}) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        async for line in lines:
            if line == "event: changed":
                break
        await replicas.orchestrator.submit_keywords("acme", b"water quality", content_type="text/plain")
        async for line in lines:
            if line == "event: changed":
                break


@pytest.mark.extended
async def test_two_replicas_below_a_path_are_one_console(replicas: Replicas) -> None:
    await replicas.orchestrator.set_brand("acme", name="Acme")
    await replicas.orchestrator.submit_keywords("acme", b"cold brew", content_type="text/plain")
    async with replicas.browser() as person:
        assert (await person.get(f"{replicas.url}/me")).headers.get("location") in {
            None,
            f"{BASE}/sign-in?next=%2Fme",
        }
        await sign_in(replicas, person)
        (cookie,) = person.cookies.jar
        assert cookie.path == BASE

        # Each of them knows who is signed in.
        for app in replicas.apps:
            answer = await person.get(f"http://127.0.0.1:{app.port}{BASE}/me")
            assert answer.status_code == 200
            assert "Ada" in answer.text

        # The same form, sent to both at once, acts once.
        form = {"keywords": "grind size", "once": "one form"}
        sent = await asyncio.gather(
            *(
                person.post(f"http://127.0.0.1:{app.port}{BASE}/b/acme/keywords/add", data=form)
                for app in (*replicas.apps, *replicas.apps)
            )
        )
        assert {(each.status_code, each.headers["location"]) for each in sent} == {
            (303, f"{BASE}/b/acme/keywords?handed_in=1")
        }
        found = (await replicas.orchestrator.search_for_keywords(brand="acme"))["items"]
        assert sorted(each["keyword"] for each in found) == ["cold brew", "grind size"]

        await check_pages(replicas, person)
        await check_stream(replicas, person)

        # What was signed out at one is signed out at the other.
        assert (await person.post(f"{replicas.url}/sign-out")).headers["location"] == f"{BASE}/sign-in"
        person.cookies.jar.set_cookie(cookie)
        for app in replicas.apps:
            answer = await person.get(f"http://127.0.0.1:{app.port}{BASE}/me")
            assert answer.headers["location"] == f"{BASE}/sign-in?next=%2Fme"


@pytest.mark.extended
async def test_a_page_behind_a_proxy_renews_itself(
    replicas: Replicas, new_browser_context: Callable[..., Awaitable[Any]]
) -> None:
    await replicas.orchestrator.set_brand("acme", name="Acme")
    async with replicas.browser() as person:
        await sign_in(replicas, person)
        cookies = [
            {"name": name, "value": value, "url": replicas.url} for name, value in person.cookies.items()
        ]
    context = await new_browser_context()
    await context.add_cookies(cookies)
    page = await context.new_page()
    refused: list[str] = []
    page.on("response", lambda answer: answer.status >= 400 and refused.append(answer.url))
    await page.goto(f"{replicas.url}/b/acme/keywords")
    await page.mouse.move(0, 0)
    await replicas.orchestrator.submit_keywords("acme", b"water quality", content_type="text/plain")
    await expect(page.locator("#keyword-list")).to_contain_text("water quality", timeout=60_000)
    assert not refused
