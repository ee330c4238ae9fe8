"""The door to the outside, on a real Caddy: what visitors get through it, and what they never do.

`make test` installs Caddy (Debian: apt-get install caddy).
"""

import asyncio
import http.server
import os
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from chassis.observing.metrics import Families
from chassis.testing import eventually
from monitor.certificates import ProxyCertificates, https_hosts

ROOT = Path(__file__).parents[2]
UPSTREAMS = ("publisher:8012", "social:8013", "orchestrator:8010", "events:8017")


class Told(http.server.BaseHTTPRequestHandler):
    """Answers everything, and says what it was asked."""

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        self.rfile.read(size)
        body = f"{self.command} {self.path}".encode()
        self.send_response(200)
        self.send_header("Asked-As", self.headers["Host"])
        self.send_header("Asked-For", self.headers["X-Forwarded-For"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815  (as the library calls them)

    def log_message(self, *_: object) -> None:
        pass


class Door:
    """Caddy with the project's file; all hosts are at one port of this machine, each under its name."""

    def __init__(self, port: int, plain_port: int, authority: Path) -> None:
        self.port = port
        self._plain_port = plain_port
        self._authority = authority

    async def ask(
        self, host: str, path: str, method: str = "GET", headers: dict[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        """Over TLS, with a certificate that holds for the host."""
        trusted = ssl.create_default_context(cafile=str(self._authority))
        async with httpx.AsyncClient(verify=trusted, timeout=60, trust_env=False) as client:
            return await client.request(
                method,
                f"https://127.0.0.1:{self.port}{path}",
                headers={"Host": f"{host}.localhost", **(headers or {})},
                extensions={"sni_hostname": f"{host}.localhost"},
                **more,
            )

    async def ask_plainly(self, host: str, path: str) -> httpx.Response:
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            headers = {"Host": f"{host}.localhost"}
            return await client.get(f"http://127.0.0.1:{self._plain_port}{path}", headers=headers)

    async def is_open(self) -> bool:
        """Whether it has a certificate for each of its hosts, and what is behind it answers."""
        try:
            answers = [await self.ask(host, "/") for host in ("articles", "posts", "api", "blog", "news")]
            return answers[0].status_code == 200
        except (OSError, httpx.TransportError):
            return False


@pytest.fixture
async def door(tmp_path: Path, free_port: Callable[[], int]) -> AsyncIterator[Door]:
    port, plain_port = free_port(), free_port()
    text = (ROOT / "deploy/compose/Caddyfile").read_text()
    ports = f"http_port {plain_port}\n\thttps_port {port}\n\tskip_install_trust"
    text = text.replace("admin off", f"admin off\n\t{ports}").replace(
        "127.0.0.1:2020", f"127.0.0.1:{free_port()}"
    )
    with ExitStack() as stack:
        for upstream in UPSTREAMS:
            server = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            text = text.replace(upstream, f"127.0.0.1:{server.server_port}")
        config = tmp_path / "Caddyfile"
        config.write_text(text)
        urls = {
            f"{name}_URL": f"https://{host}.localhost"
            for name, host in (("PUBLISHER", "articles"), ("SOCIAL", "posts"), ("API", "api"))
        }
        urls["SITE_URLS"] = "https://blog.localhost, https://news.localhost"
        folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
        caddy = await asyncio.create_subprocess_exec(
            "caddy",
            *("run", "--config", str(config), "--adapter", "caddyfile"),
            env={"PATH": os.environ["PATH"], "TLS": "internal", **folders, **urls},
            stderr=stack.enter_context((tmp_path / "log").open("w")),
        )
        made = Door(port, plain_port, tmp_path / "caddy/pki/authorities/local/root.crt")
        try:
            await eventually(made.is_open)
            yield made
        finally:
            caddy.terminate()
            await caddy.wait()


async def test_visitors_get_pages_over_tls_and_are_kept_there(door: Door) -> None:
    answer = await door.ask("articles", "/sites/acme/?page=2")
    assert answer.text == "GET /sites/acme/?page=2"
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Server" not in answer.headers
    own = await door.ask("news", "/cold-brew")
    assert (own.text, own.headers["Asked-As"]) == ("GET /cold-brew", "news.localhost")
    assert (await door.ask("posts", "/feeds/acme/")).text == "GET /feeds/acme/"
    assert (await door.ask("posts", "/", "HEAD")).status_code == 200
    plain = await door.ask_plainly("articles", "/sites/acme/")
    assert plain.status_code == 308
    assert plain.headers["Location"].startswith("https://articles.localhost")


@pytest.mark.extended
@pytest.mark.parametrize("host", ["articles", "posts", "blog"])
async def test_visitors_never_get_what_is_for_those_who_run_it(door: Door, host: str) -> None:
    for path in (
        *(
            "/metrics",
            "/metrics/",
            "/health/live",
            "/health/ready",
            "/docs",
            "/docs/oauth2-redirect",
            "/redoc",
        ),
        *(
            "/openapi.json",
            "/v1/brands/acme/logo",
            "/%6detrics",
            "//metrics",
            "/METRICS",
            "/./metrics",
            "/sites/../metrics",
            "/%2e/metrics",
        ),
    ):
        assert (await door.ask(host, path)).status_code == 404, path


async def test_the_monitor_sees_when_the_certificates_end_that_visitors_get(door: Door) -> None:
    urls = (
        "https://articles.localhost,https://posts.localhost,http://plain.localhost,https://nobody.localhost"
    )
    certificates = ProxyCertificates(Families("brand_engine"), f"127.0.0.1:{door.port}", https_hosts(urls))
    before = time.time()
    await certificates.look()
    ends, lifetime = (
        {sample.labels["host"]: sample.value for sample in family.samples}
        for family in certificates.collect()
    )
    assert set(ends) == {"articles.localhost", "posts.localhost", "nobody.localhost"}
    for host in ("articles.localhost", "posts.localhost"):
        # Those of Caddy's own authority live for half a day.
        assert lifetime[host] == pytest.approx(12 * 3600, abs=120)
        assert before < ends[host] < before + 13 * 3600
    assert ends["nobody.localhost"] == lifetime["nobody.localhost"] == 0


async def test_visitors_send_nothing(door: Door) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await door.ask("articles", "/sites/acme/", method)).status_code == 404, method
        assert (await door.ask("posts", "/sites/acme/newsletter/", method)).status_code == 404, method


@pytest.mark.extended
@pytest.mark.parametrize("step", ["", "confirm/word", "leave/word"])
async def test_readers_of_a_site_send_the_forms_of_its_newsletter_and_no_other(door: Door, step: str) -> None:
    shared = f"/sites/acme/newsletter/{step}"
    assert (await door.ask("articles", shared, "POST")).text == f"POST {shared}"
    assert (await door.ask("news", f"/newsletter/{step}", "POST")).text == f"POST /newsletter/{step}"
    assert (await door.ask("articles", shared)).text == f"GET {shared}"
    for path, method in ((f"{shared}/../../x", "POST"), (shared, "PUT"), ("/v1/newsletter/", "POST")):
        assert (await door.ask("articles", path, method)).status_code == 404, path


async def test_callers_reach_the_api_and_nothing_beside_it(door: Door) -> None:
    assert (await door.ask("api", "/v1/brands/acme", "PUT", json={})).text == "PUT /v1/brands/acme"
    for path in (
        "/",
        "/docs",
        "/openapi.json",
        "/metrics",
        "/health/ready",
        "/v1/../metrics",
        "/v1/%2e%2e/docs",
    ):
        assert (await door.ask("api", path)).status_code == 404, path


async def test_senders_reach_incoming_webhooks_and_nothing_beside_them(door: Door) -> None:
    assert (await door.ask("api", "/v1/hooks/acme.cms", "POST", json={})).text == "POST /v1/hooks/acme.cms"
    # All else goes to the orchestrator, which has no such paths.
    for method, path in (("GET", "/v1/hooks/acme.cms"), ("POST", "/v1/hooks/../events")):
        answer = await door.ask("api", path, method)
        assert answer.text.startswith(method)
    large = await door.ask("api", "/v1/hooks/acme.cms", "POST", content=b"x" * 520_000)
    assert large.status_code in {413, 502}
    assert (await door.ask("articles", "/v1/hooks/acme.cms", "POST")).status_code == 404


async def test_a_caller_cannot_say_for_whom_it_asks(door: Door) -> None:
    """Services trust the proxy's headers, so the proxy trusts no client's."""
    answer = await door.ask("api", "/v1/brands", headers={"X-Forwarded-For": "192.0.2.7"})
    assert answer.headers["Asked-For"] == "127.0.0.1"


@pytest.mark.extended
async def test_bodies_and_headers_are_bounded(door: Door) -> None:
    assert (await door.ask("api", "/v1/brands", "POST", content=b"x" * 12_400_000)).status_code == 200
    assert (await door.ask("api", "/v1/brands", "POST", content=b"x" * 12_600_000)).status_code in {413, 502}
    assert (await door.ask("articles", "/", params={"q": "x" * 40_000})).status_code == 431
