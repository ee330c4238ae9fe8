"""Webhooks, to a receiver that verifies each message with the library of Standard Webhooks, through the real gateway."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from standardwebhooks import Webhook
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from chassis.testing import eventually, running, serving
from events.app import EventsService, build
from events.settings import Settings
from events.webhooks import domain, store
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from tests.fixtures.event_log import KEY, Report, published

HOOKS = "/v1/brands/acme/webhooks"
CRM = f"{HOOKS}/crm"


@dataclass
class Receiver:
    """Verifies what comes, and takes each id once, as others do."""

    url: str = ""
    secrets: list[str] = field(default_factory=list)
    """All of them have to verify a message."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    text: str = "thanks"
    is_silent: asyncio.Event | None = None
    """Holds answers until it is set."""
    came: list[str] = field(default_factory=list)
    """Ids of all requests."""
    taken: list[dict[str, Any]] = field(default_factory=list)
    """Events, each once."""

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.taken]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        headers = {name: request.headers[name] for name in request.headers}
        document = None
        for secret in self.secrets:
            document = Webhook(secret).verify(body, headers)
        assert document is not None
        assert headers["content-type"].startswith("application/cloudevents+json")
        assert headers["webhook-id"] == document["id"]
        self.came.append(document["id"])
        if self.is_silent is not None:
            await self.is_silent.wait()
        if self.status < 300 and document["id"] not in self.ids:
            self.taken.append(document)
        response: Response = PlainTextResponse(self.text, self.status, self.headers)
        await response(scope, receive, send)


@pytest.fixture
async def gateway(make_database: Callable[..., Awaitable[str]]) -> AsyncIterator[httpx.AsyncClient]:
    settings = GatewaySettings.model_validate(
        {
            "database_url": await make_database("gateway"),
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": Fernet.generate_key().decode(),
            "egress_reachable_networks": "127.0.0.1/32",
        }
    )
    async with (
        running(GatewayApp(settings)) as app,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{app.port}",
            headers={"X-Service-Key": KEY},
            timeout=60,
            trust_env=False,
        ) as client,
    ):
        yield client


@pytest.fixture
async def settings(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], gateway: httpx.AsyncClient
) -> Settings:
    return Settings(
        rabbitmq_url=broker_urls["events"],
        database_url=await make_database("events"),
        service_key=KEY,
        http_port=0,
        gateway_url=str(gateway.base_url).rstrip("/"),
    )


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    async with serving(made) as url:
        made.url = url
        yield made


async def connect(
    gateway: httpx.AsyncClient, receiver: Receiver, name: str = "crm-hook", brands: list[str] | None = None
) -> None:
    answer = await gateway.put(
        f"/v1/accounts/{name}",
        json={
            "kind": "webhook",
            "brands": brands or ["acme"],
            "settings": {
                "url": f"{receiver.url}/hook",
                "per_minute": 100_000,
                "together": 1000,
                "at_once": 100,
            },
            "credentials": {},
        },
    )
    assert answer.status_code == 200, answer.text
    receiver.secrets = [answer.json()["secret"]]


@pytest.fixture
async def account(gateway: httpx.AsyncClient, receiver: Receiver) -> str:
    await connect(gateway, receiver)
    return "crm-hook"


async def make(api: httpx.AsyncClient, path: str = CRM, **form: Any) -> dict[str, Any]:
    answer = await api.put(path, json={"account": "crm-hook"} | form)
    assert answer.status_code in {200, 201}, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def state(api: httpx.AsyncClient, path: str = CRM) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get(path)).json()
    return found


async def tries(api: httpx.AsyncClient, path: str = CRM, **query: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await api.get(f"{path}/deliveries", params=query)).json()["items"]
    return listed


async def pass_time(service: EventsService, by: timedelta) -> None:
    """Everything that has a time in webhooks is older by so much."""
    async with service.database.connection() as connection:
        await connection.execute("update deliveries set available_at = available_at - $1::interval", by)
        await connection.execute(
            "update webhooks set resume_at = resume_at - $1::interval, failing_since = failing_since - $1::interval,"
            " leased_until = leased_until - $1::interval",
            by,
        )


async def test_each_event_of_the_brand_arrives_once_as_a_signed_cloud_event(
    api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    made = await make(api, types=["content.published"])
    assert (made["state"], made["order"], made["types"]) == ("on", "none", ["content.published"])
    ids = await report(*(published() for _ in range(6)), published("other"))
    await eventually(lambda: len(receiver.taken) == 6)
    assert sorted(receiver.ids) == sorted(map(str, ids[:6]))
    listed = (await api.get("/v1/events", params={"brand": "acme"})).json()["items"]
    for sent, told in zip(
        sorted(receiver.taken, key=lambda each: str(each["sequence"])), listed, strict=True
    ):
        assert datetime.fromisoformat(sent.pop("time")) == datetime.fromisoformat(told.pop("time"))
        assert sent == told
    await eventually(lambda: _settled(api))
    assert sorted(receiver.came) == sorted(receiver.ids)
    [first, *_] = await tries(api)
    assert (first["outcome"], first["status"], first["answer"], first["number"]) == (
        "delivered",
        200,
        "thanks",
        1,
    )
    shown = (await api.get(f"{CRM}/deliveries/{first['id']}")).json()
    assert shown["event"]["id"] == first["event_id"]
    assert [each["name"] for each in (await api.get(HOOKS)).json()["items"]] == ["crm"]


async def _settled(api: httpx.AsyncClient, path: str = CRM) -> bool:
    now = await state(api, path)
    return (now["behind"], now["waiting"], now["resending"]) == (0, 0, False)


async def test_a_receiver_that_is_away_for_hours_gets_each_event_once_and_in_order(
    service: EventsService, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api, order="strict")
    receiver.status = 503
    ids = await report(*(published() for _ in range(5)))
    for number in range(1, 8):  # tries of the first event, until it waits for hours
        await eventually(lambda number=number: len(receiver.came) == number)
        await eventually(lambda number=number: _failed(api, number))
        now = await state(api)
        assert (now["state"], now["behind"], now["waiting"]) == ("on", 4, 1)
        receiver.status = 500 if number < 7 else 200
        await pass_time(service, domain.PAUSES[number - 1] * 1.1)
    await eventually(lambda: len(receiver.taken) == 5)
    assert receiver.ids == [str(each) for each in ids]
    assert receiver.came == [str(ids[0])] * 7 + receiver.ids
    await eventually(lambda: _settled(api))
    assert (await state(api))["failing_since"] is None


async def _failed(api: httpx.AsyncClient, number: int) -> bool:
    return len(await tries(api, outcome="failed")) == number


async def test_an_event_that_always_fails_is_given_up_and_the_next_one_comes(
    service: EventsService, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api, order="strict")
    receiver.status, receiver.text = 500, "no " * 2_000
    first, second = await report(published(), published())
    for number in range(1, domain.MOST_TRIES + 1):
        await eventually(lambda number=number: receiver.came.count(str(first)) == number)
        if number < domain.MOST_TRIES:
            await eventually(lambda number=number: _failed(api, number))
            await pass_time(service, domain.PAUSES[number - 1] * 1.1)
    await eventually(lambda: str(second) in receiver.came)
    [given_up] = await tries(api, outcome="given_up")
    assert (given_up["event_id"], given_up["number"], len(given_up["answer"])) == (
        str(first),
        domain.MOST_TRIES,
        2_000,
    )
    assert (await state(api))["dead"] == 1
    receiver.status = 200
    again = await api.post(f"{CRM}/resend", json={"dead": True})
    assert again.json() == {"resent": 1, "resending": False}
    await pass_time(service, timedelta(days=1))
    await eventually(lambda: len(receiver.taken) == 2)
    assert set(receiver.ids) == {str(first), str(second)}


async def test_410_turns_it_off_and_a_person_turns_it_on(
    gateway: httpx.AsyncClient, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    receiver.status = 410
    ids = await report(published())
    await eventually(lambda: _is(api, "failed"))
    now = await state(api)
    assert "410" in now["problem"]
    assert (now["waiting"], now["dead"]) == (1, 0)
    off = (await api.get("/v1/webhooks", params={"state": "failed"})).json()["items"]
    assert [(each["brand"], each["name"]) for each in off] == [("acme", "crm")]
    ids += await report(published())
    refused = await api.post(f"{CRM}/enable")
    assert (refused.status_code, refused.json()["code"]) == (422, "unusable_webhook_account")
    receiver.status = 200
    await connect(gateway, receiver)
    assert (await api.post(f"{CRM}/enable")).json()["state"] == "on"
    await eventually(lambda: len(receiver.taken) == 2)
    assert sorted(receiver.ids) == sorted(map(str, ids))


async def _is(api: httpx.AsyncClient, wanted: str) -> bool:
    return bool((await state(api))["state"] == wanted)


async def test_days_of_failure_turn_it_off(
    service: EventsService, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    receiver.status = 500
    await report(published())
    await eventually(lambda: _failed(api, 1))
    async with service.database.connection() as connection:
        await connection.execute("update webhooks set failures = 30")
    await pass_time(service, timedelta(days=3))
    await eventually(lambda: _is(api, "failed"))
    assert "nothing was delivered since" in (await state(api))["problem"]
    receiver.status = 200
    skipped = await api.post(f"{CRM}/enable", json={"skip_missed": True})
    assert (skipped.json()["state"], skipped.json()["problem"]) == ("on", None)
    [new] = await report(published())
    await eventually(lambda: receiver.ids == [str(new)])


async def test_a_receiver_says_when_to_come_again(
    service: EventsService, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    receiver.status, receiver.headers = 503, {"Retry-After": "3000"}
    await report(published())
    await eventually(lambda: _failed(api, 1))
    async with service.database.connection() as connection:
        wait = await connection.fetchval("select available_at - clock_timestamp() from deliveries")
    assert timedelta(seconds=2900) < wait <= timedelta(seconds=3000)


async def test_a_huge_answer_of_anything_is_an_answer(
    api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    receiver.text = "\x00\x01<b>" * 400_000
    await report(published())
    await eventually(lambda: _settled(api))
    [tried] = await tries(api)
    assert (tried["outcome"], len(tried["answer"])) == ("delivered", 2_000)
    assert (len(receiver.came), "\x00" in tried["answer"]) == (1, False)
    assert (await api.post(f"{CRM}/test")).json()["delivered"] is True


async def test_both_secrets_verify_while_one_is_rotated(
    gateway: httpx.AsyncClient, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    rotated = await gateway.post("/v1/accounts/crm-hook/rotate")
    receiver.secrets.append(rotated.json()["secret"])
    await report(published())
    await eventually(lambda: len(receiver.taken) == 1)


async def test_a_test_event_is_sent_at_once_and_its_answer_is_shown(
    api: httpx.AsyncClient, receiver: Receiver, account: str
) -> None:
    await make(api)
    await api.post(f"{CRM}/disable")
    told = (await api.post(f"{CRM}/test")).json()
    assert (told["delivered"], told["status"], told["answer"]) == (True, 200, "thanks")
    assert receiver.taken == [told["event"]]
    assert told["event"]["type"] == "webhook.test"
    receiver.status = 418
    assert (await api.post(f"{CRM}/test")).json()["problem"] == "the receiver answered 418"
    assert await tries(api) == []


async def test_events_are_sent_again_one_or_all_since_a_time(
    api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    since = datetime.now(UTC)
    await make(api, order="strict")
    await report(*(published() for _ in range(3)), published("other"))
    await eventually(lambda: _settled(api))
    last = (await tries(api))[0]
    assert last["place"] == 3
    for places in ([last["place"]], [last["place"], 4, 99]):
        answer = await api.post(f"{CRM}/resend", json={"places": places})
        assert answer.json()["resent"] in {0, 1}  # 0: the same waits still
        await eventually(lambda: _settled(api))
    assert set(receiver.came[3:]) == {last["event_id"]}
    before = len(receiver.came)
    receiver.is_silent = asyncio.Event()
    for _ in range(2):
        answer = await api.post(f"{CRM}/resend", json={"since": since.isoformat()})
        assert answer.status_code == 200
    receiver.is_silent.set()
    await eventually(lambda: _settled(api))
    assert receiver.came[before:] == receiver.ids
    for body in ({}, {"dead": True, "places": [1]}, {"since": "2026-01-01T00:00:00"}):
        assert (await api.post(f"{CRM}/resend", json=body)).status_code == 422


async def test_two_processes_share_and_one_that_is_killed_loses_nothing(
    service: EventsService,
    settings: Settings,
    api: httpx.AsyncClient,
    report: Report,
    gateway: httpx.AsyncClient,
    receiver: Receiver,
    account: str,
) -> None:
    await make(api, order="strict")
    receiver.is_silent = asyncio.Event()
    ids = await report(*(published() for _ in range(4)))
    await eventually(lambda: len(receiver.came) == 1)
    assert service.webhooks is not None
    # As if the process had died during the request: nothing is stored, and its leases stay.
    for task in list(service.webhooks._working.values()):
        task.cancel()
    receiver.is_silent.set()
    receiver.is_silent = None
    async with running(build(settings)) as other:
        assert other.webhooks is not None
        await pass_time(service, timedelta(seconds=91))
        await eventually(lambda: _settled(api))
    assert [each["id"] for each in receiver.taken] == [str(each) for each in ids]
    assert [each for each in receiver.came if each != str(ids[0])] == [str(each) for each in ids[1:]]
    assert {each["number"] for each in await tries(api, event_id=str(ids[0]))} == {2}


async def test_a_slow_receiver_delays_no_other(
    gateway: httpx.AsyncClient, api: httpx.AsyncClient, report: Report, receiver: Receiver
) -> None:
    slow = Receiver(is_silent=asyncio.Event())
    async with serving(slow) as url:
        slow.url = url
        await connect(gateway, slow, "slow")
        await connect(gateway, receiver)
        await make(api, f"{HOOKS}/slow", account="slow")
        await make(api)
        await report(*(published() for _ in range(12)))
        await eventually(lambda: len(receiver.taken) == 12)
        assert slow.taken == []
        slow.is_silent.set()
        await eventually(lambda: _settled(api, f"{HOOKS}/slow"))
        assert sorted(slow.came) == sorted(receiver.ids)


async def test_while_the_gateway_limits_the_rate_no_try_counts(
    service: EventsService,
    gateway: httpx.AsyncClient,
    api: httpx.AsyncClient,
    report: Report,
    receiver: Receiver,
    account: str,
) -> None:
    await make(api)
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    await report(published())
    await eventually(lambda: _failed(api, 1))
    await pass_time(service, timedelta(seconds=700))
    # The gateway still knows the pause, and sends nothing.
    await eventually(lambda: _problem_changed(api))
    assert len(receiver.came) == 1
    async with service.database.connection() as connection:
        assert await connection.fetchval("select number from deliveries") == 1


async def _problem_changed(api: httpx.AsyncClient) -> bool:
    return bool((await state(api))["problem"] != "the receiver answered 429")


async def test_an_account_has_to_be_a_webhook_of_the_brand(
    gateway: httpx.AsyncClient, api: httpx.AsyncClient, receiver: Receiver
) -> None:
    await connect(gateway, receiver, "theirs", ["other"])
    for account in ("theirs", "unknown"):
        refused = await api.put(CRM, json={"account": account})
        assert (refused.status_code, refused.json()["code"]) == (422, "unusable_webhook_account")
    for form in (
        {"account": "A b"},
        {"account": "theirs", "order": "some"},
        {"account": "theirs", "strange": 1},
        {"account": "theirs", "types": ["no.such"]},
    ):
        assert (await api.put(CRM, json=form)).status_code == 422
    for path in (CRM, f"{CRM}/deliveries"):
        assert (await api.get(path)).json()["code"] == "unknown_webhook"


async def test_made_twice_it_is_there_once_and_changes_in_place(
    api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    answers = await asyncio.gather(*(api.put(CRM, json={"account": "crm-hook"}) for _ in range(5)))
    assert sorted(each.status_code for each in answers) == [200, 200, 200, 200, 201]
    await report(published())
    await eventually(lambda: len(receiver.taken) == 1)
    changed = await make(api, types=["social.posted"], order="strict")
    assert (changed["types"], changed["order"]) == (["social.posted"], "strict")
    await report(published())
    await eventually(lambda: _settled(api))
    assert len(receiver.taken) == 1
    assert (await api.get("/v1/subscriptions")).json()["items"] == []
    assert (await api.delete(CRM)).status_code == 204
    assert (await api.get(CRM)).status_code == 404


async def test_an_erased_brand_leaves_no_webhook(
    service: EventsService, api: httpx.AsyncClient, report: Report, receiver: Receiver, account: str
) -> None:
    await make(api)
    await report(published())
    await eventually(lambda: len(receiver.taken) == 1)
    async with service.database.transaction() as tx:
        assert await store.forget_brand(tx.connection, "acme") == 1
    async with service.database.connection() as connection:
        for table in ("webhooks", "webhook_tries", "subscriptions", "deliveries"):
            assert await connection.fetchval(f"select count(*) from {table}") == 0


def test_the_schedule_covers_a_day() -> None:
    pauses = [domain.pause_after(number, None, 0.0) for number in range(1, domain.MOST_TRIES + 1)]
    assert pauses[-1] is None
    total = sum((each for each in pauses if each is not None), timedelta())
    assert timedelta(hours=23) < total < timedelta(hours=25)
    assert domain.pause_after(1, timedelta(days=9), 0.5) == timedelta(days=1)
    assert domain.pause_after(5, timedelta(seconds=1), 1.0) == timedelta(hours=1.1)
    assert domain.pause_of_webhook(2) == timedelta()
    assert domain.pause_of_webhook(99) == timedelta(minutes=5)
