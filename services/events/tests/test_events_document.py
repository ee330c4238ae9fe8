"""The service answers every request that its document allows as the document says, live streams included, and strange ones, too."""

import json
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from envelope.brand.payloads import BrandErased
from events.app import EventsService
from events.incoming_hooks import store as incoming_hooks
from events.incoming_hooks.definition import HookDefinition, HookKind
from events.live import follower
from events.subscriptions import store as subscriptions
from events.webhooks import store as webhooks
from tests.fixtures.event_log import Report, published
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz

NAMES = [f"crm-{number}" for number in range(40)]
"""More than there are operations, as some delete what they name."""
COMMAND = {"type": "cycle.start", "data": {"keywords": [{"from": "/title"}]}}
_TRIES = """
insert into webhook_tries (try_id, subscription, position, event_id, type, number, outcome, status, answer, duration_ms)
select id, $2, 1, gen_random_uuid(), 'content.published', 1, 'delivered', 200, 'ok', 12 from unnest($1::uuid[]) as id
"""


@pytest.fixture(autouse=True)
def short_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams end at once: each is read to its end."""
    monkeypatch.setattr(follower, "LIFETIME_SECONDS", 0.05)
    # A quiet stream notices its end when it next says that it is there.
    monkeypatch.setattr(follower, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
async def known(service: EventsService, report: Report) -> dict[str, list[str | int]]:
    """Events, and under each name a subscription, a webhook and an incoming webhook, by parameter."""
    await report(*(published() for _ in range(20)), correlation_id="chain-1")
    await report(BrandErased(brand_slug="rival", erasure_id=uuid4(), service="research"))
    definition = HookDefinition.model_validate(COMMAND)
    tries: list[UUID] = [uuid4() for _ in NAMES]
    async with service.database.transaction() as tx:
        connection = tx.connection
        for name in NAMES:
            for made in (name, webhooks.subscription_of("acme", name)):
                await subscriptions.insert(
                    connection, made, brands=["acme"], types=None, max_deliveries=3, position=0, by="ada"
                )
            await webhooks.insert(connection, "acme", name, "account", strict=False)
            await incoming_hooks.insert(
                connection, "acme", name, HookKind.PATH, "0" * 64, definition, by="ada"
            )
            await connection.execute(_TRIES, tries[:1], webhooks.subscription_of("acme", name))
            del tries[0]
        rows = await connection.fetch("select try_id from webhook_tries")
    return {
        "query.types": ["content.published", "content.published,social.posted"],
        "query.type": ["content.published"],
        "query.brand": ["acme"],
        "query.correlation_id": ["chain-1"],
        "query.after": [0, 7, 20],
        "header.last-event-id": ["0", "7", "20"],
        "path.slug": ["acme"],
        "path.name": list(NAMES),
        "path.delivery_id": [str(row["try_id"]) for row in rows],
    }


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_service_is_as_documented(
    api: httpx.AsyncClient, known: dict[str, list[str | int]], tmp_path: Path, thorough: bool
) -> None:
    # Webhooks are turned on after their accounts are checked, by a gateway, which is not there. No message of that id failed.
    unreached = {
        "POST /v1/brands/{slug}/webhooks/{name}/enable",
        "POST /v1/brands/{slug}/webhooks/{name}/test",
        "GET /v1/messages/{message_id}/edit",
    }
    await fuzz(api, tmp_path, known=known, thorough=thorough, unreached=unreached)


@pytest.mark.extended
async def test_nothing_that_is_asked_makes_the_service_fail(
    api: httpx.AsyncClient, known: dict[str, list[str | int]]
) -> None:
    document = (await api.get("/openapi.json")).json()
    values = {place.rpartition(".")[2]: list(map(str, found)) for place, found in known.items()}
    target = FuzzTarget(
        str(api.base_url),
        [
            *document["paths"],
            *["/v1/events/live"] * 5,
            *["/v1/hooks/{slug}.{name}", "/v1/hooks/{slug}.{name}/{x}", "/v1/hooks/{x}"] * 3,
            "/openapi.json",
            "/docs",
            "/v1/{x}",
            "/{x}",
        ],
        known=values | {"Last-Event-ID": ["0", "20", "21"]},
        bodies=[
            {"kind": "path", "command": COMMAND},
            {"account": "crm", "types": ["content.published"], "order": "strict"},
            {"batch_size": 3, "visibility_timeout_seconds": 1},
            {"title": "cold brew"},
        ],
        key=api.headers["X-Service-Key"],
        document=document,
    )
    answered = await ask_strangely(target, count=300)
    assert {200, 401, 404, 405, 422} <= set(answered)


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"params": {"after": "21"}}, 409, "unknown_event_place"),
        ({"params": {"after": "-1"}}, 422, "invalid_request"),
        ({"params": {"after": str(2**63)}}, 422, "invalid_request"),
        ({"params": {"types": "content.eaten"}}, 422, "unknown_event_type"),
        ({"params": {"types": "content.publish"}}, 422, "unknown_event_type"),  # a command
        ({"params": {"types": "x" * 2_001}}, 422, "invalid_request"),
        ({"params": {"brand": "No Slug"}}, 422, "invalid_request"),
        ({"params": {"correlation_id": ""}}, 422, "invalid_request"),
        ({"params": {"correlation_id": "x" * 201}}, 422, "invalid_request"),
        ({"headers": {"Last-Event-ID": "22"}}, 409, "unknown_event_place"),
        ({"headers": {"Last-Event-ID": "-1"}}, 422, "invalid_request"),
        ({"headers": {"Last-Event-ID": "9" * 30}}, 422, "invalid_request"),
        ({"headers": {"Last-Event-ID": "9" * 31}}, 422, "invalid_request"),
        ({"headers": {"Last-Event-ID": "1e3"}}, 422, "invalid_request"),
        ({"headers": {"Last-Event-ID": "\u00b2".encode("latin-1")}}, 422, "invalid_request"),
    ],
)
async def test_a_stream_with_strange_parameters_is_refused_before_it_begins(
    api: httpx.AsyncClient,
    report: Report,
    asked: dict[str, dict[str, str]],
    status: int,
    code: str,
) -> None:
    await report(published())
    answer = await api.get("/v1/events/live", **asked)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_place_in_the_header_counts_more_than_one_in_the_address(
    api: httpx.AsyncClient, report: Report
) -> None:
    """Browsers connect again to the first address, and name the last event in the header."""
    await report(*(published() for _ in range(3)))
    stream = await api.get("/v1/events/live", params={"after": 0}, headers={"Last-Event-ID": "2"})
    data = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: ")]
    assert [int(each["sequence"]) for each in data] == [3]
