"""Signing in at a certified provider (oidc-provider) as it runs.

OIDC_PROVIDER names a JSON file with its `issuer`, `client_id`, `client_secret` and `redirect_uris`, of which the first is
`http://127.0.0.1:PORT/sign-in/callback`; its development log-in takes every name.
"""

import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

pytestmark = pytest.mark.real
FILE = os.environ.get("OIDC_PROVIDER", "")


@pytest.fixture
def real() -> dict[str, Any]:
    if not FILE:
        pytest.skip("OIDC_PROVIDER names no provider")
    told: dict[str, Any] = json.loads(Path(FILE).read_text())
    return told


@pytest.fixture
def oidc(real: dict[str, Any]) -> dict[str, str]:
    return {
        "oidc_issuer": real["issuer"],
        "oidc_client_id": real["client_id"],
        "oidc_client_secret": real["client_secret"],
    }


@pytest.fixture
def console_port(real: dict[str, Any]) -> int:
    port = urlsplit(real["redirect_uris"][0]).port
    assert port is not None
    return port


async def log_in(provider: httpx.AsyncClient, address: str, back: str, name: str) -> str:
    """Follows the provider's pages as `name` would, to the address that it sends the browser back to."""
    answer = await provider.get(address)
    for _ in range(10):
        if answer.status_code in {302, 303}:
            place = urljoin(str(answer.url), answer.headers["location"])
            if place.startswith(back):
                return place
            answer = await provider.get(place)
            continue
        assert answer.status_code == 200, answer.text
        asks_login = 'name="login"' in answer.text
        form = {"prompt": "login", "login": name, "password": "x"} if asks_login else {"prompt": "consent"}
        answer = await provider.post(str(answer.url), data=form)
    raise AssertionError("the provider does not send the browser back")


async def test_an_invitation_a_sign_in_and_a_confirmation(
    console: Any, browser: Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]
) -> None:
    back = f"{console.url}/sign-in/callback"
    link = urlsplit(await console.invite("Bob", "editor")).path
    async with browser() as bob, httpx.AsyncClient(trust_env=False, timeout=60) as at_provider:

        async def through(path: str, name: str = "bob") -> httpx.Response:
            left = await bob.get(path)
            assert left.status_code == 303, left.text
            return await bob.get(await log_in(at_provider, left.headers["location"], back, name))

        accepted = await through(f"{link}/provider")
        assert (accepted.status_code, accepted.headers["location"]) == (303, "/"), accepted.text
        assert (await bob.get("/me")).status_code == 200
        await bob.post("/sign-out")
        assert (await through("/sign-in/provider?next=/me")).headers["location"] == "/me"
        assert (await through("/sign-in/provider/confirm")).status_code == 200
        at_provider.cookies.clear()
        await bob.post("/sign-out")
        assert (await through("/sign-in/provider", "eve")).status_code == 403
