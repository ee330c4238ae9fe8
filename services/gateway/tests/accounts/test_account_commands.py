"""`brandctl accounts`, as an operator at a shell has it."""

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.responses import JSONResponse

from gateway.app import GatewayApp
from tests.fixtures.accounts.other_side import KEY, OtherSide
from tests.fixtures.commands import brandctl

TOKEN = "token-recognisable-0123"


class Operator:
    """Runs the command as a person at a shell does."""

    def __init__(self, gateway: GatewayApp, folder: Path) -> None:
        self._folder = folder
        self._variables = {"GATEWAY_URL": f"http://127.0.0.1:{gateway.port}", "SERVICE_KEY": KEY}

    async def begin(self, *arguments: str) -> asyncio.subprocess.Process:
        """For a command that needs more input while it runs."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "brandctl", "accounts", *arguments,
            cwd=self._folder,
            env=kept | {"TERM": "dumb"} | self._variables,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip

    async def run(self, *arguments: str, given: str = "") -> tuple[int, str]:
        ended = await brandctl.Operator(self._folder, self._variables, "accounts")(*arguments, typed=given)
        return ended.code, ended.told


@pytest.fixture
def operator(gateway: GatewayApp, tmp_path: Path) -> Operator:
    return Operator(gateway, tmp_path)


@pytest.mark.extended
async def test_a_check_that_reaches_nobody_does_not_say_that_the_account_works(
    operator: Operator, other: OtherSide
) -> None:
    other.answer(
        "GET /api/v1/accounts/verify_credentials", {"id": "7", "acct": "acme"}, JSONResponse({}, 503)
    )
    connecting = ("connect", "mastodon", "--brand", "acme", "--url", other.url)
    assert (await operator.run(*connecting, given=TOKEN))[0] == 0
    code, told = await operator.run("check", "mastodon")
    assert (code, "mastodon is connected as @acme, but did not answer now; it did at 20" in told) == (1, True)
    _, listed = await operator.run("list")
    assert "@acme\tok\t" in listed


async def test_a_token_that_snac_cannot_process_is_refused(operator: Operator, other: OtherSide) -> None:
    other.answer("GET /api/v1/accounts/verify_credentials", JSONResponse({}, 422))
    code, told = await operator.run(
        "connect", "mastodon", "--brand", "acme", "--url", other.url, given="wrong"
    )
    assert (code, "the server does not know the token: make another there" in told) == (1, True)


@pytest.mark.extended
async def test_accounts_are_connected_listed_checked_and_disconnected(
    operator: Operator, other: OtherSide
) -> None:
    other.answer(
        "GET /api/v1/accounts/verify_credentials", {"id": "7", "acct": "acme"}, JSONResponse({}, 401)
    )
    code, told = await operator.run(
        "connect", "mastodon", "--brand", "acme", "--url", other.url, given=f"{TOKEN}\n"
    )
    assert (code, told) == (0, "mastodon is connected as @acme, and works\n")
    code, told = await operator.run("connect", "webhook", "--all-brands", "--url", other.url, "--no-secret")
    assert (code, told.startswith("whsec_")) == (0, True), told
    assert told.endswith("webhook is connected; the first message will show whether it works\n")
    shown = told
    _, listed = await operator.run("list")
    assert "mastodon\tmastodon\tacme\t@acme\tok\t" in listed
    assert "webhook\twebhook\tall\t" in listed
    # What nobody names stays as it is.
    assert (await operator.run("connect", "mastodon", "--keep", "--brand", "acme", "--brand", "other"))[
        0
    ] == 1
    assert other.came[-1].headers["authorization"] == f"Bearer {TOKEN}"
    code, told = await operator.run("check", "mastodon")
    assert (code, "connect again" in told) == (1, True)
    code, told = await operator.run("show", "mastodon")
    assert (code, "acme, other" in told, "needs_reconnecting" in told) == (0, True, True)
    code, told = await operator.run("rotate", "webhook")
    assert (code, told.startswith("whsec_"), told.split("\n")[0] in shown) == (0, True, False)
    for wrong, why in (
        (("connect", "wordpress", "--brand", "acme", "--url", other.url), "--user"),
        (("connect", "mastodon", "--name", "new", "--url", other.url), "--brand"),
        (("connect", "mastodon", "--brand", "acme", "--url", other.url), "no token"),
        (("connect", "devto", "--brand", "acme", "--set", "nonsense"), "NAME=VALUE"),
    ):
        code, told = await operator.run(*wrong)
        assert (code, why in told) == (2, True), told
    assert (await operator.run("disconnect", "mastodon"))[0] == 0
    assert "mastodon" not in (await operator.run("list"))[1]
    assert TOKEN not in listed + told


@pytest.mark.extended
async def test_an_account_is_logged_in_with_by_a_browser(operator: Operator, other: OtherSide) -> None:
    scopes = ("--scope", "tweet.read", "--scope", "tweet.write")
    code, told = await operator.run(
        "app", "x", "--client-id", "ours", *scopes, given="an-app-secret-recognisable\n"
    )
    assert (code, "recognisable" in told) == (0, False)
    code, told = await operator.run("app", "x")
    assert (code, "tweet.read, tweet.write" in told, "recognisable" in told) == (0, True, False)
    other.answer(
        "POST /2/oauth2/token", {"access_token": TOKEN, "refresh_token": "r-recognisable", "expires_in": 7200}
    )
    other.answer("GET /2/users/me", {"data": {"id": "7", "username": "acme"}})
    arguments = (
        "connect",
        "x",
        "--name",
        "acme-x",
        "--brand",
        "acme",
        "--set",
        f"api_url={other.url}",
        "--port",
        "0",
    )
    process = await operator.begin(*arguments)
    assert process.stdout is not None
    said = ""
    while "https://" not in said:
        said = (await process.stdout.readline()).decode()
    asked = {name: values[0] for name, values in parse_qs(urlsplit(said.strip()).query).items()}
    home = asked["redirect_uri"]
    assert asked["scope"] == "tweet.read tweet.write"
    assert urlsplit(home).hostname == "127.0.0.1"
    async with httpx.AsyncClient(trust_env=False) as browser:
        assert (await browser.get(home.replace("/callback", "/favicon.ico"))).status_code == 404
        page = await browser.get(home, params={"code": "a-code", "state": asked["state"]})
    assert "You are logged in" in page.text
    out, _ = await process.communicate()
    assert (process.returncode, out.decode()) == (0, "acme-x is connected as @acme, and works\n")

    # Without a browser on this machine.
    process = await operator.begin(*arguments[:-2], "--paste", "--redirect-uri", "https://acme.example/back")
    assert process.stdin is not None
    assert process.stdout is not None
    said = ""
    while "https://" not in said:
        said = (await process.stdout.readline()).decode()
    state = parse_qs(urlsplit(said.strip()).query)["state"][0]
    out, _ = await process.communicate(f"https://acme.example/back?code=b&state={state}\n".encode())
    assert process.returncode == 0, out

    process = await operator.begin(*arguments[:-2], "--paste")
    out, _ = await process.communicate(b"http://127.0.0.1/callback?error=access_denied&state=x\n")
    assert (process.returncode, b"The provider refused: access_denied" in out) == (1, True)
