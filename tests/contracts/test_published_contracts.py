"""The contracts under `docs/` agree with the code, are valid by the standard they claim, and complete."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, FormatChecker

from envelope import encode
from envelope.brand import CATALOGUE
from envelope.brand.examples import EXAMPLES
from messaging import headers as header
from messaging import topology
from messaging.flow.codec import decoder
from messaging.topology import permissions, work_queues
from messaging.topology.contracts import DEAD_LETTER, AsyncApiDocument, generate

DOCS = Path(__file__).parents[2] / "docs"
OFFICIAL = Path(__file__).parent / "asyncapi-3.0.0" / "schema.json"

Node = dict[str, Any]
DOCUMENT: Node = AsyncApiDocument(CATALOGUE, EXAMPLES).describe()
MESSAGES: Node = DOCUMENT["components"]["messages"]


@cache
def official() -> Draft7Validator:
    return Draft7Validator(json.loads(OFFICIAL.read_text()))


def within_document(schema: Node) -> Draft7Validator:
    """A validator of one of the document's schemas, with references into the document."""
    return Draft7Validator({**schema, "components": DOCUMENT["components"]}, format_checker=FormatChecker())


def resolve(reference: Node) -> Any:
    node: Any = DOCUMENT
    for part in reference["$ref"].removeprefix("#/").split("/"):
        node = node[part]
    return resolve(node) if isinstance(node, dict) and "$ref" in node else node


def references(node: Any) -> Iterator[Node]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


# -- drift ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(generate(CATALOGUE, EXAMPLES)))
def test_what_is_published_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text() == generate(CATALOGUE, EXAMPLES)[name], (
        "run `make schemas`, and read the change"
    )


# -- the AsyncAPI document: valid ------------------------------------------------------------------------------------------


def test_the_document_is_valid_by_the_official_schema() -> None:
    Draft7Validator.check_schema(official().schema)
    errors = [f"{error.json_path}: {error.message[:200]}" for error in official().iter_errors(DOCUMENT)]
    assert errors == []


def other_version(document: Node) -> None:
    document["asyncapi"] = "2.6.0"


def unknown_action(document: Node) -> None:
    document["operations"]["monitor.receives.monitor-commands"]["action"] = "subscribe"


def operation_nowhere(document: Node) -> None:
    del document["operations"]["monitor.receives.monitor-commands"]["channel"]


def exchange_of_no_known_type(document: Node) -> None:
    document["channels"]["returns"]["bindings"]["amqp"]["exchange"]["type"] = "quorum"


def correlation_id_nowhere(document: Node) -> None:
    del document["components"]["correlationIds"]["envelope"]["location"]


def field_of_no_known_type(document: Node) -> None:
    document["components"]["schemas"]["ResearchRequested"]["properties"]["keyword"]["type"] = "text"


def message_with_a_word_of_its_own(document: Node) -> None:
    document["components"]["messages"]["social.create"]["schema"] = {}


@pytest.mark.extended
@pytest.mark.parametrize(
    "mistake",
    [
        other_version,
        unknown_action,
        operation_nowhere,
        exchange_of_no_known_type,
        correlation_id_nowhere,
        field_of_no_known_type,
        message_with_a_word_of_its_own,
    ],
)
def test_a_mistake_in_the_document_would_be_found(mistake: Callable[[Node], None]) -> None:
    document = copy.deepcopy(DOCUMENT)
    mistake(document)

    assert not official().is_valid(document)


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        resolve(reference)


def test_every_schema_is_one_and_knows_no_references_of_its_own() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft7Validator.check_schema(schema)
        assert "$defs" not in schema


# -- the AsyncAPI document: complete ---------------------------------------------------------------------------------------


def test_every_message_type_is_there_and_no_other() -> None:
    assert MESSAGES.keys() == {*CATALOGUE, DEAD_LETTER}


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_a_message_says_all_that_a_sender_and_a_reader_need(name: str) -> None:
    message = MESSAGES[name]
    assert message["summary"]
    assert resolve(message["correlationId"])["location"] == "$message.payload#/correlation_id"
    assert message["bindings"]["amqp"].get("messageType", name) == name
    assert message["examples"]
    for example in message["examples"]:
        within_document(resolve(message["payload"])).validate(example["payload"])
        within_document(resolve(message["headers"])).validate(example["headers"])


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_message_is_summed_up_in_a_line_and_described_in_paragraphs(name: str) -> None:
    message = MESSAGES[name]
    assert "\n" not in message["summary"]
    paragraphs = message.get("description", "").split("\n\n")
    assert [paragraph for paragraph in paragraphs if paragraph != " ".join(paragraph.split())] == []
    assert (
        f"{message['summary']} {' '.join(paragraphs)}".split()
        == (CATALOGUE[name].payload.__doc__ or "").split()
    )


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_an_example_is_a_message_that_its_queue_understands(name: str) -> None:
    entry = CATALOGUE[name]
    (example,) = MESSAGES[name]["examples"]
    body = json.dumps(example["payload"]).encode()

    assert decoder(CATALOGUE, [name], entry.queue)(body, name, {}) == EXAMPLES[name]
    assert json.loads(encode(EXAMPLES[name])) == example["payload"]


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_schema_refuses_what_is_no_such_message(name: str) -> None:
    (example,) = MESSAGES[name]["examples"]
    validator = within_document(resolve(MESSAGES[name]["payload"]))
    other = next(other for other in CATALOGUE if other != name)

    assert not validator.is_valid({**example["payload"], "type": other})
    assert not validator.is_valid({**example["payload"], "event_id": "7"})
    assert not validator.is_valid({**example["payload"], "payload": {}})


def test_examples_tell_one_story() -> None:
    caused_by = {message.causation_id for message in EXAMPLES.values()} - {None}
    recorded, resolved = EXAMPLES["dead_letter.recorded"].payload, EXAMPLES["dead_letter.resolved"].payload

    assert caused_by <= {message.event_id for message in EXAMPLES.values()}
    assert [name for name, message in EXAMPLES.items() if message.causation_id is None] == [
        "research.requested",
        "content.delete",  # by a person
        "dead_letters.erase",  # likewise
        "audit.completed",  # by the clock
        "drafts.waiting",
        "database.fell_back",  # by a fail-over
    ]
    assert len({message.correlation_id for message in EXAMPLES.values()}) == 1
    assert recorded.dead_event_id == resolved.dead_event_id == EXAMPLES["content.generate"].event_id


def test_every_header_in_use_is_documented() -> None:
    names = {
        value
        for name, value in vars(header).items()
        if name.isupper() and isinstance(value, str) and not value.startswith("x-")
    }
    assert DOCUMENT["components"]["schemas"]["dead-letter-headers"]["properties"].keys() == names
    assert DOCUMENT["components"]["schemas"]["headers"]["properties"].keys() < names


def test_every_queue_is_received_from_by_the_service_that_may_read_it() -> None:
    received = {
        (operation["tags"][0]["name"], resolve(operation["channel"])["address"])
        for operation in DOCUMENT["operations"].values()
        if operation["action"] == "receive"
    }
    assert received == {
        (service, queue)
        for service, permitted in permissions.describe(CATALOGUE).items()
        for queue in permitted.queues
    }
    assert {queue for _, queue in received} == {queue.name for queue in topology.describe(CATALOGUE).queues}


def test_every_service_sends_what_it_may_write_and_no_more() -> None:
    sent = set()
    for operation in DOCUMENT["operations"].values():
        if operation["action"] == "send":
            channel = resolve(operation["channel"])
            exchange = channel["bindings"]["amqp"]["exchange"]["name"]
            keys = operation.get("x-routing-keys", [channel["address"]])
            sent |= {(operation["tags"][0]["name"], exchange, key) for key in keys}
    assert sent == {
        (service, exchange, key)
        for service, permitted in permissions.describe(CATALOGUE).items()
        for exchange, keys in permitted.routing_keys.items()
        for key in keys
    }


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_exactly_its_producers_send_a_message_for_the_first_time(entry) -> None:
    senders = {
        operation["tags"][0]["name"]
        for operation in DOCUMENT["operations"].values()
        if operation["action"] == "send" and "x-routing-keys" not in operation
        for reference in operation["messages"]
        if resolve(reference)["name"] == entry.name
    }
    assert senders == set(entry.producers)


def test_operations_name_only_messages_of_their_channel() -> None:
    for operation in DOCUMENT["operations"].values():
        channel = resolve(operation["channel"])
        names = [reference["$ref"].rpartition("/")[2] for reference in operation["messages"]]
        assert names
        assert set(names) <= channel["messages"].keys()
        assert all(
            reference["$ref"].startswith(operation["channel"]["$ref"]) for reference in operation["messages"]
        )


# -- the page ------------------------------------------------------------------------------------------------------------


def rows_under(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the page, without its header."""
    section = re.split(r"^##+ ", generate(CATALOGUE, EXAMPLES)["topology.md"], flags=re.MULTILINE)
    (body,) = [text for text in section if text.startswith(heading + "\n")]
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_lists_every_exchange_queue_binding_and_message() -> None:
    described = topology.describe(CATALOGUE)
    assert [row[0] for row in rows_under("Exchanges")] == list(described.exchanges)
    assert [row[0] for row in rows_under("Queues")] == [queue.name for queue in described.queues]
    assert [tuple(row) for row in rows_under("Bindings")] == [
        (binding.exchange, binding.routing_key, binding.queue) for binding in described.bindings
    ]
    assert [row[0] for row in rows_under("Messages")] == list(CATALOGUE)


@pytest.mark.extended
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_page_says_in_the_row_of_a_message_what_it_means(name: str) -> None:
    meaning = " ".join((CATALOGUE[name].payload.__doc__ or "").split())
    page = generate(CATALOGUE, EXAMPLES)["topology.md"]
    assert re.search(rf"^\| `{re.escape(name)}` \|.* \| {re.escape(meaning)} \|$", page, re.MULTILINE)


@pytest.mark.parametrize("service", permissions.describe(CATALOGUE))
def test_the_page_says_what_a_service_may_write(service: str) -> None:
    rows = {row[0]: tuple(re.findall(r"[\w.#-]+", row[1])) for row in rows_under(service)}
    assert rows == permissions.service_permissions(CATALOGUE, service).routing_keys


def test_the_picture_shows_every_way_of_a_message() -> None:
    page = generate(CATALOGUE, EXAMPLES)["topology.md"]
    for queue in work_queues(CATALOGUE):
        assert re.search(rf"exchange_\w+ --> queue_{queue.replace('-', '_')}$", page, re.MULTILINE)
    for name in CATALOGUE:
        assert name in page.partition("## When a message fails")[0]
