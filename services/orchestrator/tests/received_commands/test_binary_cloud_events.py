"""Commands as CloudEvents in the binary mode of HTTP, as the official SDK writes them."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from cloudevents.core.bindings.http import from_binary, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from orchestrator.received_commands.binary_mode import as_cloud_event

FORMAT = JSONFormat()
DATA = {"brand_slug": "acme", "keywords": ["oat milk"]}


@pytest.fixture(autouse=True)
async def brand(api: httpx.AsyncClient) -> None:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()


def event(**attributes: Any) -> CloudEvent:
    told = {"id": "order-1", "source": "/shop", "type": "cycle.start", "time": datetime.now(UTC)}
    return CloudEvent(attributes=told | attributes, data=DATA)


async def results(api: httpx.AsyncClient, headers: Any, body: bytes) -> list[dict[str, Any]]:
    answer = await api.post("/v1/messages", content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


@pytest.mark.parametrize("named", [{}, {"datacontenttype": "application/json"}])
async def test_the_sdk_sends_a_command_in_both_modes_and_it_is_done_once(
    api: httpx.AsyncClient, named: dict[str, str]
) -> None:
    """Without `datacontenttype`, the SDK sends no Content-Type in the binary mode."""
    # Characters that are percent-encoded, and extensions, which mean nothing here.
    made = event(id='café "1" 100%', source="/shop é", subject="x", **named)
    binary, structured = to_binary(made, FORMAT), to_structured(made, FORMAT)
    (first,) = await results(api, binary.headers, binary.body)
    (again,) = await results(api, structured.headers, structured.body)
    assert (first["id"], first["type"], first["status"]) == ('café "1" 100%', "cycle.start", "accepted")
    assert (again["status"], again["location"]) == ("duplicate", first["location"])
    cycle = (await api.get(first["location"])).json()
    assert [each["keyword"] for each in cycle["keywords"]] == ["oat milk"]


async def test_headers_mean_nothing_beside_a_whole_event_or_a_batch(api: httpx.AsyncClient) -> None:
    structured = to_structured(event(), FORMAT)
    others = {"ce-specversion": "1.0", "ce-id": "another", "ce-type": "brand.audit"}
    (alone,) = await results(api, structured.headers | others, structured.body)
    (batched,) = await results(
        api, {"Content-Type": "application/cloudevents-batch+json"} | others, b"[" + structured.body + b"]"
    )
    assert (alone["id"], alone["type"], alone["status"]) == ("order-1", "cycle.start", "accepted")
    assert batched["status"] == "duplicate"


@pytest.mark.parametrize("missing", ["specversion", "id", "source", "type", "time"])
async def test_a_missing_header_is_named(api: httpx.AsyncClient, missing: str) -> None:
    binary = to_binary(event(), FORMAT)
    headers = {name: value for name, value in binary.headers.items() if name != f"ce-{missing}"}
    (refused,) = await results(api, headers, binary.body)
    assert (refused["status"], refused["code"]) == ("refused", "invalid_message")
    assert refused["detail"].startswith(f"{missing}: ")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("ce-specversion", "0.3"),
        ("ce-id", "%FF"),  # no UTF-8
        ("ce-id", "%00"),
        ("ce-id", "x" * 201),
        ("ce-id", ""),
        ("ce-time", "yesterday"),
        ("ce-type", "brand.erase"),
    ],
)
async def test_strange_headers_are_refused(api: httpx.AsyncClient, header: str, value: str) -> None:
    binary = to_binary(event(), FORMAT)
    (refused,) = await results(api, binary.headers | {header: value}, binary.body)
    assert refused["status"] == "refused"


async def test_a_body_cannot_be_sent_as_another_type(api: httpx.AsyncClient) -> None:
    binary = to_binary(event(), FORMAT)
    answer = await api.post(
        "/v1/messages", content=binary.body, headers=binary.headers | {"Content-Type": "text/plain"}
    )
    assert answer.status_code == 415


def test_headers_are_decoded_as_the_http_binding_says() -> None:
    headers = [
        (b"ce-specversion", b"1.0"),
        (b"ce-id", rb'"a \"b\" %C3%A9"'),
        (b"ce-source", b"/a"),
        (b"ce-source", b"/b"),
        (b"ce-data", b"x"),
        (b"ce-type", b"t%"),
    ]
    assert as_cloud_event(headers, {"n": 1}) == {
        "specversion": "1.0",
        "id": 'a "b" é',
        "source": "/a, /b",
        "type": "t%",
        "data": {"n": 1},
    }
    assert as_cloud_event([(b"ce-time", b"1"), (b"accept", b"*/*")], {"n": 1}) == {"n": 1}


def test_what_the_sdk_writes_is_read_back_as_the_sdk_reads_it() -> None:
    made = event(id='ü"%\\ ~', source="/ 😀")
    binary = to_binary(made, FORMAT)
    raw = [(name.lower().encode(), value.encode()) for name, value in binary.headers.items()]
    ours = as_cloud_event(raw, DATA)
    theirs = from_binary(binary, FORMAT)
    assert (ours["id"], ours["source"]) == (theirs.get_id(), theirs.get_source())
