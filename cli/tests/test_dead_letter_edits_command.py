"""`brandctl dead-letters edit`, against a running monitor and a publisher whose API takes the edit."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from brandctl.dead_letters.editing import kept_hidden, with_settings
from brandctl.errors import CommandError
from chassis import ServiceKey
from chassis.http.api import add_routes, api
from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Service, ServiceSettings, Unprocessable, on_each
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.testing import Broker
from monitor.app import build
from monitor.settings import Settings
from tests.fixtures.commands import brandctl
from tests.fixtures.commands.brandctl import CommandResult

KEY = "test-service-key-0123456789"
MakeDatabase = Callable[..., Awaitable[str]]
SECRET = "https://acme.example/ada@acme.example"
SCHEMA: dict[str, Any] = {
    "$defs": {"Place": {"type": "object", "properties": {"town": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
    },
}


class Publisher:
    """Knows one target, and one that fails."""

    def __init__(self) -> None:
        self.tried: list[ContentPublish] = []

    async def handle(self, message: DomainMessage[ContentPublish], _: Context) -> None:
        self.tried.append(message.payload)
        if message.payload.target != "site":
            raise Unprocessable(f"unknown target {message.payload.target}")


class Desk:
    """Runs the command, and puts messages into the publisher's queue."""

    def __init__(
        self, folder: Path, variables: dict[str, str], rabbitmq_url: str, publisher: Publisher
    ) -> None:
        self.folder = folder
        self.publisher = publisher
        self._variables = variables
        self._rabbitmq_url = rabbitmq_url

    async def __call__(self, *arguments: str) -> CommandResult:
        ended = await brandctl.Operator(self.folder, self._variables, "dead-letters")(*arguments)
        assert KEY not in ended.told
        return ended

    async def dead(self, **more: Any) -> str:
        """The id of a dead letter."""
        payload = {"brand_slug": "acme", "content_id": str(uuid4()), "target": "sight"} | more
        document = {
            "event_id": str(uuid4()),
            "type": "content.publish",
            "source": "orchestrator",
            "timestamp": "2026-01-02T03:04:05Z",
            "correlation_id": "chain-1",
            "payload": payload,
        }
        async with Broker.connected(self._rabbitmq_url) as broker:
            await broker.publish("commands", "publisher-commands", json.dumps(document).encode())
        monitor = self._variables["MONITOR_URL"]
        async with httpx.AsyncClient(base_url=monitor, headers={"X-Service-Key": KEY}) as client:

            async def there() -> Any:
                asked = {"message_id": document["event_id"]}
                return (await client.get("/v1/dead-letters", params=asked)).json()["items"]

            (item,) = await eventually(there)
        return str(item["id"])


@pytest.fixture
async def desk(make_database: MakeDatabase, rabbitmq_url: str, tmp_path: Path) -> AsyncIterator[Desk]:
    common: dict[str, Any] = {
        "rabbitmq_url": SecretStr(rabbitmq_url),
        "service_key": SecretStr(KEY),
        "http_port": 0,
    }
    publisher = Publisher()
    monitor = build(Settings(**common, database_url=SecretStr(await make_database("monitor"))))
    service = Service(
        "publisher",
        ServiceSettings(**common, database_url=SecretStr(await make_database("publisher"))),
        CATALOGUE,
    )
    service.consume("publisher-commands", on_each(publisher.handle, ContentPublish))
    app = api("Publisher", ServiceKey(SecretStr(KEY)), codes=MESSAGE_CODES, larger_bodies=EDIT_BODIES)
    add_routes(app, message_routes(service.database))
    service.serve(app)
    async with running(monitor), running(service):
        variables = {
            "MONITOR_URL": f"http://127.0.0.1:{monitor.port}",
            "PUBLISHER_URL": f"http://127.0.0.1:{service.port}",
            "SERVICE_KEY": KEY,
        }
        yield Desk(tmp_path, variables, rabbitmq_url, publisher)


async def test_a_field_is_set_the_edited_message_is_handled_and_a_second_edit_is_refused(desk: Desk) -> None:
    one = await desk.dead()
    unknown = await desk("edit", one, "--set", "targt=site")
    assert (unknown.code, unknown.out) == (1, "")
    assert "targt: is not a field of this type" in unknown.err
    done = await desk(
        "edit", one, "--set", "target=site", "--reason", "a typing error", "--by", "Ann", "--wait", "--json"
    )
    assert done.code == 0, done.err
    assert done.json()["outcome"] == "handled"
    shown = (await desk("show", one, "--json")).json()
    assert (shown["state"], shown["edit"]["edited_by"]) == ("resolved", "Ann")
    assert shown["edit"]["event_id"] == done.json()["edited_message_id"]
    again = await desk("edit", one, "--set", "target=blog", "--by", "Bob")
    assert again.code == 1
    assert "was edited by Ann" in again.err
    assert [each.target for each in desk.publisher.tried] == ["sight", "site"]


async def test_a_file_has_the_edited_payload_and_what_is_hidden_keeps_its_value(desk: Desk) -> None:
    one = await desk.dead(canonical_url=SECRET)
    payload = (await desk("show", one, "--json")).json()["payload"]["payload"]
    assert SECRET not in str(payload)
    file = desk.folder / "payload.json"
    file.write_text(json.dumps(payload | {"target": "blog"}))
    failed = await desk("edit", one, "--file", str(file), "--wait")
    assert failed.code == 1
    assert "it failed too" in failed.err
    assert [(each.target, each.canonical_url) for each in desk.publisher.tried] == [
        ("sight", SECRET),
        ("blog", SECRET),
    ]


async def test_what_makes_no_sense_is_refused_before_anything_is_sent(desk: Desk) -> None:
    one = await desk.dead()
    file = desk.folder / "payload.json"
    file.write_text("[")
    for arguments, code in (
        ((), 2),
        (("--file", str(file), "--set", "target=site"), 2),
        (("--file", str(file)), 1),
        (("--set", "target"), 1),
        (("--set", "brand_slug=rival"), 1),
        (("--set", "target=sight"), 1),
    ):
        assert (await desk("edit", one, *arguments)).code == code, arguments
    assert len(desk.publisher.tried) == 1


def test_settings_have_the_type_that_the_schema_says() -> None:
    payload = {"name": "Ann", "place": None, "more": 1}
    assert with_settings(
        {**payload, "place": {}}, ["name=7", "count=7", "place.town=5", "more=[1]"], SCHEMA
    ) == {
        "name": "7",
        "count": 7,
        "place": {"town": "5"},
        "more": [1],
    }
    for wrong in ("name", "=x", "name.first=x"):
        with pytest.raises(CommandError):
            with_settings(payload, [wrong], SCHEMA)


def test_a_mask_in_the_file_stands_for_the_original() -> None:
    original = {"comment": "for Bob", "list": [{"token": "x"}, {"token": "y"}], "name": "Ann", "stars": "***"}
    shown = {"comment": "***", "list": [{"token": "***"}, {"token": "***"}], "name": "Ann", "stars": "***"}
    assert kept_hidden({**shown, "name": "Bea", "new": [1]}, shown, original) == {
        **original,
        "name": "Bea",
        "new": [1],
    }
    for wrong in (
        {"list": [{"token": "***"}]},
        {"comment": "*** and Bea"},
        {"new": "***"},
    ):
        with pytest.raises(CommandError, match="--raw"):
            kept_hidden({**shown, **wrong}, shown, original)
