"""`/v1/spend` of the running service, and `brandctl spend` as a process of its own against it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from chassis import Connection
from chassis.testing import running
from gateway.app import GatewayApp
from gateway.calls import CallRequest, fingerprint
from gateway.limits import Permit
from gateway.outcomes import AnsweredCall
from gateway.problems import CallProblemError
from gateway.settings import Settings
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def gateway(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[GatewayApp]:
    settings = Settings.model_validate(
        {
            "database_url": await make_database("gateway"),
            "service_key": KEY,
            "http_port": 0,
            "cap_brand_day": "0.50",
        }
    )
    async with running(GatewayApp(settings)) as app:
        yield app


@pytest.fixture
async def api(gateway: GatewayApp) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{gateway.port}", headers={"X-Service-Key": KEY}, trust_env=False
    ) as client:
        yield client


async def pay(gateway: GatewayApp, brand: str, maximum: int, spent: int) -> None:
    async def send() -> AnsweredCall:
        return AnsweredCall("an answer", spent, {"tokens": 12})

    async def at_once(_: Connection) -> Permit:
        now = datetime.now(UTC)
        return Permit(now, now, None)

    what = fingerprint(brand, maximum, spent)
    asked = CallRequest(brand, "model", "a-model", what, maximum, timedelta(seconds=5), timedelta())
    await gateway.paid_calls.execute(asked, send, at_once)


async def test_what_was_spent_and_may_be_is_told(gateway: GatewayApp, api: httpx.AsyncClient) -> None:
    await pay(gateway, "acme", 400_000, 300_001)
    await pay(gateway, "other", 10, 9)
    told = (await api.get("/v1/spend")).json()
    days = {
        each["scope"]: (each["day"]["spent"], each["day"]["reserved"], each["day"]["cap"])
        for each in told["scopes"]
    }
    assert days == {"*": (300_010, 0, 10_000_000), "acme": (300_001, 0, 500_000), "other": (9, 0, 500_000)}
    assert [(each["brand"], each["calls"], each["spent"]) for each in told["providers"]] == [
        ("acme", 1, 300_001),
        ("other", 1, 9),
    ]
    (entry,) = (await api.get("/v1/spend/calls", params={"brand": "acme"})).json()["items"]
    assert (entry["state"], entry["spent"], entry["maximum"], entry["usage"]) == (
        "settled",
        300_001,
        400_000,
        {"tokens": 12},
    )


async def test_the_ledger_is_read_page_by_page(gateway: GatewayApp, api: httpx.AsyncClient) -> None:
    for number in range(5):
        await pay(gateway, "acme", 10, number)
    seen: list[int] = []
    before: str | None = None
    for _ in range(3):
        parameters = {"limit": "2"} | ({"before": before} if before else {})
        page = (await api.get("/v1/spend/calls", params=parameters)).json()
        seen += [entry["spent"] for entry in page["items"]]
        before = page["next"]
    assert (seen, before) == ([4, 3, 2, 1, 0], None)


async def test_days_begin_in_the_zone_that_is_asked_for(gateway: GatewayApp, api: httpx.AsyncClient) -> None:
    for brand, spent in (("acme", 5), ("acme", 7), ("other", 9), ("acme", 11)):
        await pay(gateway, brand, 20, spent)
    async with gateway.connections.connection() as connection:
        for spent, began in ((5, "19:30"), (7, "20:30")):
            await connection.execute(
                "update calls set state = 'presumed',"
                " began_at = (date_trunc('day', now() at time zone 'utc') - interval '3 days' + $2::text::time) at time zone 'utc'"
                " where spent = $1",
                spent,
                began,
            )

    async def told(**asked: str) -> list[tuple[int, int, int, int]]:
        answer = (await api.get("/v1/spend/days", params={"zone": "Etc/GMT-4", **asked})).json()
        today = date.fromisoformat(answer["today"])
        assert answer["begins"] == str(today - timedelta(days=int(asked.get("days", "30")) - 1))
        return [
            ((today - date.fromisoformat(each["day"])).days, each["calls"], each["spent"], each["presumed"])
            for each in answer["items"]
        ]

    # In that zone the day begins at 20:00 of UTC, also that of the test.
    later = int(datetime.now(UTC).hour >= 20)
    before = [(3 + later, 1, 5, 5), (2 + later, 1, 7, 7)]
    assert await told() == [*before, (0, 2, 20, 0)]
    assert await told(brand="acme") == [*before, (0, 1, 11, 0)]
    assert await told(days="1", brand="nobody") == []
    assert (await api.get("/v1/spend/days", params={"zone": "Mars"})).status_code == 422


@pytest.mark.parametrize("wrong", [{"day": "-1"}, {"day": "NaN"}, {"day": "1e9"}, {"week": 1}])
async def test_a_cap_that_is_none_is_refused(api: httpx.AsyncClient, wrong: dict[str, object]) -> None:
    assert (await api.put("/v1/spend/caps/acme", json=wrong)).status_code == 422
    assert (await api.put("/v1/spend/caps/Not%20a%20slug", json={})).status_code == 422


async def test_an_operator_caps_stops_and_resumes(gateway: GatewayApp, tmp_path: Path) -> None:
    operator = Operator(
        tmp_path, {"GATEWAY_URL": f"http://127.0.0.1:{gateway.port}", "SERVICE_KEY": KEY}, "spend"
    )

    async def brandctl(*arguments: str) -> tuple[int, str]:
        ended = await operator(*arguments)
        return ended.code, ended.told

    code, shown = await brandctl("cap", "acme", "--day", "0.000100")
    assert (code, "acme\t0.00\t0.0001\t0.00\t0.00\t30.00\ton" in shown) == (0, True)
    with pytest.raises(CallProblemError, match=r"budget\.too_small"):
        await pay(gateway, "acme", 101, 1)
    await pay(gateway, "acme", 100, 60)
    assert "acme\tmodel\ta-model\tsettled\t0.00006\t0.0001\t" in (await brandctl("calls"))[1]

    assert (await brandctl("stop", "--brand", "acme", "--why", "a leak"))[0] == 0
    with pytest.raises(CallProblemError, match="a leak"):
        await pay(gateway, "acme", 1, 1)
    await pay(gateway, "other", 1, 1)
    assert "stopped: a leak" in (await brandctl())[1]
    assert (await brandctl("resume", "--brand", "acme"))[0] == 0
    await pay(gateway, "acme", 1, 1)
    assert (await brandctl("cap", "acme"))[1].splitlines()[1].split("\t")[2] == "0.50", "the setting's again"
