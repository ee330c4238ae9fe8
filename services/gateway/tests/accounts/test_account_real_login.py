"""Logging in with a provider of OpenID Connect that is not ours: deploy/local/servers/oidc.sh."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest

from brandctl.local import ports
from tests.fixtures.accounts.other_side import OtherSide

pytestmark = pytest.mark.real
ROOT: Final = Path(__file__).parents[4]
HOME: Final = "http://127.0.0.1:8976/callback"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address; skipped where its packages cannot be had."""
    port = ports.free_port()
    folder = tmp_path_factory.mktemp("oidc")
    script = [ROOT / "deploy/local/servers/oidc.sh", folder, str(port)]
    shared = {"OIDC_APP": str(ROOT / ".local/servers/oidc"), "REDIRECT_URI": HOME}
    started = subprocess.run(
        script, env=os.environ | shared, capture_output=True, text=True, timeout=300, check=False
    )
    if started.returncode:
        pytest.skip(f"oidc-provider cannot be had: {started.stderr[-300:]}")
    yield f"http://127.0.0.1:{port}"
    subprocess.run([*script, "stop"], check=True, timeout=60)


async def log_in(address: str) -> dict[str, str]:
    """As a browser does: a name and a password, consent, and back."""
    async with httpx.AsyncClient(trust_env=False) as browser:
        page = await browser.get(address)
        for form in ({"prompt": "login", "login": "ada", "password": "x"}, {"prompt": "consent"}):
            while page.is_redirect:
                page = await browser.get(urljoin(str(page.url), page.headers["location"]))
            action = re.search(r'action="([^"]+)"', page.text)
            assert action is not None, page.text
            page = await browser.post(urljoin(str(page.url), action[1]), data=form)
        while not page.headers.get("location", "").startswith(HOME):
            page = await browser.get(urljoin(str(page.url), page.headers["location"]))
        query = urlsplit(page.headers["location"]).query
        return {name: values[0] for name, values in parse_qs(query).items()}


async def test_codes_are_exchanged_and_tokens_that_change_at_each_use_are_renewed(
    provider: str, api: httpx.AsyncClient, other: OtherSide
) -> None:
    app = {
        "client_id": "app",
        "client_secret": "app-secret",
        "authorize_url": f"{provider}/auth",
        "token_url": f"{provider}/token",
        "scopes": ["openid"],
    }
    assert (await api.put("/v1/account-apps/x", json=app)).status_code == 204
    other.answer("GET /2/users/me", {"data": {"id": "7", "username": "acme"}})
    other.answer("GET /2/tweets/1", {"data": {}})
    body = {"kind": "x", "brands": ["acme"], "settings": {"api_url": other.url}, "redirect_uri": HOME}

    async def begin() -> dict[str, str]:
        begun = await api.post("/v1/accounts/acme-x/authorizations", json=body)
        assert begun.status_code == 201, begun.text
        return await log_in(begun.json()["authorize_url"])

    async def complete(code: str, state: str) -> httpx.Response:
        given = {"code": code, "state": state}
        return await api.post("/v1/accounts/acme-x/authorizations/complete", json=given)

    back = await begin()
    done = await complete(back["code"], back["state"])
    assert (done.status_code, done.json()["state"]) == (200, "ok"), done.text
    # Its access ends within a minute, so each of these renews it with the token of the one before.
    ask = {"brand": "acme", "method": "GET", "path": "/2/tweets/1"}
    for _ in range(3):
        assert (await api.post("/v1/accounts/acme-x/requests", json=ask)).json()["status"] == 200
    used = [came.headers["authorization"] for came in other.came]
    assert len(set(used)) == len(used) >= 4
    assert (await api.get("/v1/accounts/acme-x")).json()["state"] == "ok"

    # A code that was used, and one that goes with another verifier, connect nothing.
    first, second = await begin(), await begin()
    swapped = await complete(first["code"], second["state"])
    assert (swapped.status_code, swapped.json()["type"]) == (424, "account.login_refused")
    assert (await complete("nonsense", first["state"])).json()["type"] == "account.login_refused"
    assert (await complete(back["code"], back["state"])).json()["type"] == "account.state_unknown"
