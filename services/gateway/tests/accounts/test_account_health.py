"""Health of accounts: one replica checks each once a day; those that end soon are reported to Prometheus and operators."""

import asyncio
import base64
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from starlette.responses import JSONResponse

from chassis.testing import running
from gateway.accounts import AccountHealthChecker
from gateway.accounts.domain import AccountState, ConnectedAccount
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import OtherSide, client

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ME = "GET /api/v1/accounts/verify_credentials"


def body(other: OtherSide, token: str = "token-0123456789") -> dict[str, Any]:
    return {
        "kind": "mastodon",
        "brands": ["acme"],
        "settings": {"url": other.url},
        "credentials": {"token": token},
    }


@pytest.mark.parametrize(
    ("state", "left", "shown"),
    [
        (AccountState.OK, None, AccountState.OK),
        (AccountState.OK, timedelta(days=15), AccountState.OK),
        (AccountState.OK, timedelta(days=14), AccountState.EXPIRING),
        (AccountState.UNCHECKED, timedelta(days=1), AccountState.EXPIRING),
        (AccountState.OK, timedelta(), AccountState.NEEDS_RECONNECTING),
        (AccountState.NEEDS_RECONNECTING, timedelta(days=40), AccountState.NEEDS_RECONNECTING),
    ],
)
def test_an_account_that_ends_within_two_weeks_is_told_of(
    state: AccountState, left: timedelta | None, shown: AccountState
) -> None:
    expires_at = None if left is None else NOW + left
    account = ConnectedAccount("a", "x", ("acme",), {}, 0, None, {}, (), expires_at, state, None, NOW, None)
    assert account.state_at(NOW) is shown


@pytest.mark.extended
@pytest.mark.parametrize(("status", "state"), [(401, "needs_reconnecting"), (403, "unchecked")])
async def test_a_refusal_is_shown_in_the_providers_words_without_the_secret_that_it_repeats(
    api: httpx.AsyncClient, other: OtherSide, status: int, state: str
) -> None:
    said = {"error": "Only letters: abcdefghijklm is\nno token", "trace": "abcdefghijklm"}
    other.answer(ME, JSONResponse(said, status))
    await api.put("/v1/accounts/acme", json=body(other, "abcdefghijklm"))
    told = (await api.post("/v1/accounts/acme/check")).json()
    assert told["state"] == state
    assert "(“Only letters: *** is no token”)" in told["detail"]


def health_of(gateway: GatewayApp) -> AccountHealthChecker:
    return gateway._health


@pytest.mark.extended
async def test_each_account_is_looked_at_once_whatever_the_number_of_replicas(
    settings: Callable[[], Settings], other: OtherSide, database_url: str
) -> None:
    other.answer(ME, {"id": "7", "acct": "acme"})
    async with (
        running(GatewayApp(settings())) as one,
        running(GatewayApp(settings())) as two,
        client(one) as api,
        asyncpg.create_pool(database_url) as pool,
    ):
        for number in range(12):
            put = await api.put(f"/v1/accounts/acme-{number}", json=body(other, f"token-{number:012}"))
            assert put.status_code == 200
        await pool.execute("update accounts set check_due_at = clock_timestamp()")
        for _ in range(3):  # a few at a time
            await asyncio.gather(health_of(one).tick(), health_of(two).tick())
        checked = Counter(
            came.headers["authorization"] for came in other.came if came.path.endswith("credentials")
        )
        assert sorted(checked.values()) == [1] * 12
        shown = (await api.get("/v1/accounts")).json()["items"]
        assert {(each["state"], each["label"]) for each in shown} == {("ok", "@acme")}
        await health_of(one).tick()
        assert sum(checked.values()) == 12
        due = await pool.fetchval("select min(check_due_at) - clock_timestamp() from accounts")
        assert timedelta(hours=23) < due < timedelta(hours=25)


async def test_what_cannot_be_asked_is_asked_again_soon_and_counts_as_before(
    gateway: GatewayApp, api: httpx.AsyncClient, other: OtherSide, database_url: str
) -> None:
    await api.put("/v1/accounts/acme", json=body(other))
    other.answer(ME, {"id": "7", "acct": "acme"}, JSONResponse({}, 503))
    assert (await api.post("/v1/accounts/acme/check")).json()["state"] == "ok"
    again = (await api.post("/v1/accounts/acme/check")).json()
    assert (again["state"], again["detail"]) == ("ok", None)
    await api.put("/v1/accounts/other", json=body(other))
    never = (await api.post("/v1/accounts/other/check")).json()
    assert (never["state"], "could not be looked at" in never["detail"]) == ("unchecked", True)
    connection = await asyncpg.connect(database_url)
    due = await connection.fetchval("select max(check_due_at) - clock_timestamp() from accounts")
    await connection.close()
    assert due < timedelta(hours=2)
    assert (await api.post("/v1/accounts/nobody/check")).status_code == 404


async def test_accounts_are_counted_by_kind_and_state(
    gateway: GatewayApp, api: httpx.AsyncClient, other: OtherSide, database_url: str
) -> None:
    other.answer(ME, {"id": "7", "acct": "acme"}, JSONResponse({}, 401))
    for name in ("one", "two", "three"):
        await api.put(f"/v1/accounts/{name}", json=body(other))
    await api.post("/v1/accounts/one/check")
    await api.post("/v1/accounts/two/check")
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "update accounts set expires_at = clock_timestamp() + interval '1 day' where name = 'one'"
    )
    await connection.close()
    await gateway.metrics.sample()
    text = (await api.get("/metrics")).text
    shown = [
        line.removeprefix("brand_engine_")
        for line in text.splitlines()
        if line.startswith('brand_engine_accounts{kind="mastodon"')
    ]
    assert shown == [
        'accounts{kind="mastodon",state="ok"} 0.0',
        'accounts{kind="mastodon",state="expiring"} 1.0',
        'accounts{kind="mastodon",state="needs_reconnecting"} 1.0',
        'accounts{kind="mastodon",state="unchecked"} 1.0',
    ]


@pytest.mark.extended
async def test_credentials_go_on_when_gateway_keys_are_changed(
    settings: Callable[[], Settings], other: OtherSide
) -> None:
    other.answer(ME, {"id": "7", "acct": "acme"})
    before, new = settings(), Fernet.generate_key().decode()
    old = before.gateway_keys
    assert old is not None
    async with running(GatewayApp(before)) as app, client(app) as api:
        await api.put("/v1/accounts/acme", json=body(other))
        await api.put("/v1/account-apps/x", json={"client_id": "a", "client_secret": "an-apps-secret"})
    given = before.model_dump() | {
        "gateway_keys": f"{new},{old.get_secret_value()}",
        "service_key": "test-service-key-0123456789",
    }
    both = Settings.model_validate(given | {"database_url": before.database_url.get_secret_value()})
    async with running(GatewayApp(both)) as app, client(app) as api:
        assert (await api.post("/v1/providers/rotate")).json() == {"sealed_anew": 2}
    alone = both.model_copy(update={"gateway_keys": type(old)(new)})
    async with running(GatewayApp(alone)) as app, client(app) as api:
        assert (await api.post("/v1/accounts/acme/check")).json()["state"] == "ok"
        assert (await api.get("/v1/account-apps/x")).json()["has_secret"] is True


async def test_a_webhooks_secret_is_changed_while_messages_go_on(
    api: httpx.AsyncClient, other: OtherSide
) -> None:
    hook = {"kind": "webhook", "brands": ["acme"], "settings": {"url": f"{other.url}/in"}}
    first = (await api.put("/v1/accounts/hook", json=hook)).json()["secret"]
    second = (await api.post("/v1/accounts/hook/rotate")).json()["secret"]
    other.answer("POST /in", {})
    message = {"brand": "acme", "method": "POST", "path": "/", "json": {}, "headers": {"webhook-id": "m"}}
    assert (await api.post("/v1/accounts/hook/requests", json=message)).status_code == 200
    assert len(other.asked[-1].headers["webhook-signature"].split(" ")) == 2
    assert first != second
    assert base64.b64decode(second.removeprefix("whsec_"))
    assert second not in json.dumps((await api.get("/v1/audit-log")).json())
    await api.put("/v1/accounts/acme", json=body(other))
    assert (await api.post("/v1/accounts/acme/rotate")).status_code == 422
