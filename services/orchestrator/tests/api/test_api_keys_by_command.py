"""`brandctl keys` as a process of its own, beside the API."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from chassis.api_keys import ApiKey
from tests.fixtures.commands import brandctl as commands
from tests.fixtures.commands.brandctl import CommandResult


@pytest.fixture
def brandctl(live_api: httpx.Client, tmp_path: Path) -> Callable[..., CommandResult]:
    def run(*arguments: str, **environment: str) -> CommandResult:
        known = {
            "ORCHESTRATOR_URL": str(live_api.base_url).rstrip("/"),
            "SERVICE_KEY": live_api.headers["X-Service-Key"],
        }
        return commands.brandctl(*arguments, folder=tmp_path, variables=known | environment)

    return run


@pytest.mark.extended
def test_how_often_a_key_may_be_used(brandctl: Any, live_api: httpx.Client) -> None:
    made = brandctl("keys", "create", "hasty", "--scope", "read", "--limit", "1200")
    assert made.code == 0, made.err

    def limit() -> int:
        number: int = json.loads(brandctl("keys", "list", "--json").out)["items"][0]["per_minute"]
        return number

    assert limit() == 1200
    assert "40 times a minute" in brandctl("keys", "limit", "hasty", "40").err
    assert limit() == 40
    assert brandctl("keys", "limit", "hasty").code == 0
    assert limit() == 600


def test_the_audit_log_says_who_has_changed_what(brandctl: Any, live_api: httpx.Client) -> None:
    for tone in ("dry", "warm"):
        live_api.put("/v1/brands/acme", json={"name": "Acme", "tone": tone}).raise_for_status()
    made = brandctl("keys", "create", "newsroom", "--scope", "operate", "--brand", "acme")
    heading, *lines = brandctl("audit-log").out.splitlines()
    told = [dict(zip(heading.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert [(each["what"], each["changed"]) for each in told] == [
        ("POST /v1/keys", "made"),
        ("PUT /v1/brands/acme", 'policy.tone: "dry" -> "warm", tone: "dry" -> "warm"'),
        ("PUT /v1/brands/acme", "made"),
    ]
    assert {each["caller"] for each in told} == {"service (service)"}
    own = json.loads(brandctl("audit-log", "--json", SERVICE_KEY=made.out.strip()).out)
    assert [each["path"] for each in own["items"]] == ["/v1/brands/acme"] * 2
    paged = brandctl("audit-log", "--limit", "1")
    assert len(paged.out.splitlines()) == 2
    assert "there are more: --after " in paged.err
    nothing = brandctl("audit-log", "--caller", "nobody")
    assert (nothing.out, "no change over the API is recorded" in nothing.err) == ("", True)


@pytest.mark.extended
def test_a_key_from_its_making_to_its_end(brandctl: Any, live_api: httpx.Client) -> None:
    live_api.put("/v1/brands/acme", json={"name": "Acme"}).raise_for_status()
    made = brandctl(
        "keys",
        "create",
        "newsroom",
        "--scope",
        "submit",
        "--scope",
        "read",
        "--brand",
        "acme",
        "--expires",
        "90d",
    )
    assert made.code == 0, made.err
    key = ApiKey.read(made.out.strip())
    assert key is not None
    assert key.id in made.err
    assert key.secret not in made.err

    # The command itself asks with it, for what it opens.
    submitted = brandctl("submit", "acme", "cold brew", SERVICE_KEY=key.written())
    assert submitted.code == 0, submitted.err
    refused = brandctl("keys", "list", SERVICE_KEY=key.written())
    assert (refused.code, "a key with the scope 'admin'" in refused.err) == (1, True)

    rotated = brandctl("keys", "rotate", "newsroom", "--grace", "30m")
    newer = ApiKey.read(rotated.out.strip())
    assert newer is not None
    assert (newer.id, "The old secret is valid until 20" in rotated.err) == (key.id, True)
    bearers = [{"Authorization": f"Bearer {each.written()}"} for each in (key, newer)]
    url = live_api.build_request("GET", "/v1/brands/acme").url
    assert [httpx.get(url, headers=each).status_code for each in bearers] == [200, 200]

    heading, line = (each.split("\t") for each in brandctl("keys", "list").out.splitlines())
    about = dict(zip(heading, line, strict=True))
    assert about | {"expires": "", "last used": ""} == {
        "id": key.id,
        "name": "newsroom",
        "state": "open",
        "scopes": "read submit",
        "a minute": "600",
        "brands": "acme",
        "expires": "",
        "last used": "",
    }
    assert about["last used"].startswith("20")
    revoked = brandctl("keys", "revoke", "newsroom")
    assert (revoked.code, "is revoked" in revoked.err) == (0, True)
    assert [httpx.get(url, headers=each).status_code for each in bearers] == [401, 401]
    listed = json.loads(brandctl("keys", "list", "--json").out)
    assert listed["items"][0]["revoked_by"] == "service"
    again = brandctl("keys", "revoke", "newsroom")
    assert (again.code, "there is no key newsroom" in again.err) == (1, True)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("create", "x", "--scope", "read", "--expires", "soon"),
            "write a day such as 2027-01-31, or a duration",
        ),
        (("rotate", "x", "--grace", "1w"), "--grace 1w: write a duration such as 30m"),
        (("create", "x", "--scope", "write"), "'write' is not one of 'read'"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anybody_is_asked(
    brandctl: Any, arguments: tuple[str, ...], said: str
) -> None:
    done = brandctl("keys", *arguments, ORCHESTRATOR_URL="http://127.0.0.1:1")
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err
