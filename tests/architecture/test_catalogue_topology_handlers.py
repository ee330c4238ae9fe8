"""Catalogue, topology and handlers describe one system; this fails when they disagree."""

import ast
import importlib
from collections import Counter
from pathlib import Path

import pytest

from envelope import MessageKind
from envelope.brand import CATALOGUE, EVENTS, SERVICES
from messaging import Service
from messaging.flow.dead_letters import RECEIVED
from messaging.topology import COMMANDS, RETURNS, dead_letter_queue, describe, permissions, work_queues

ROOT = Path(__file__).parents[2]


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Service]:
    """All of them, wired as in production and connected to nothing."""
    monkeypatch.setenv("RABBITMQ_URL", "amqp://user:password@127.0.0.1:1/")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@127.0.0.1:1/name")
    monkeypatch.setenv("SERVICE_KEY", "a-key-for-tests-only")
    monkeypatch.setenv("CORPUS", str(tmp_path))
    for name in ("ORCHESTRATOR_URL", "RESEARCH_URL", "PUBLIC_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    return {name: build(name) for name in SERVICES}


def build(name: str) -> Service:
    app, settings = importlib.import_module(f"{name}.app"), importlib.import_module(f"{name}.settings")
    service = app.build(settings.Settings())
    assert isinstance(service, Service)
    return service


def test_every_message_type_is_handled_by_exactly_the_services_the_catalogue_names(
    services: dict[str, Service],
) -> None:
    handled = {
        (service.name, runner.queue, name)
        for service in services.values()
        for runner in service.runners
        for name in runner.table
        if name != RECEIVED
    }
    catalogued = {
        (consumer, entry.queue, entry.name) for entry in CATALOGUE.values() for consumer in entry.consumers
    }
    logged = {
        (CATALOGUE.event_log, CATALOGUE.event_log_queue, entry.name)
        for entry in CATALOGUE.values()
        if entry.kind is MessageKind.EVENT
    }
    assert handled == catalogued | logged


def test_every_queue_has_exactly_one_consuming_service(services: dict[str, Service]) -> None:
    consumed = Counter(runner.queue for service in services.values() for runner in service.runners)
    assert consumed == Counter(queue.name for queue in describe(CATALOGUE).queues)


def test_dead_letters_are_the_monitors(services: dict[str, Service]) -> None:
    queues = {runner.queue for runner in services["monitor"].runners}
    assert queues >= {dead_letter_queue(name) for name in work_queues(CATALOGUE)}
    for name, service in services.items():
        if name != "monitor":
            assert not any(runner.queue.endswith("-dlq") for runner in service.runners)


def test_a_service_may_consume_exactly_what_it_consumes(services: dict[str, Service]) -> None:
    for name, service in services.items():
        assert sorted(runner.queue for runner in service.runners) == sorted(
            permissions.service_permissions(CATALOGUE, name).queues
        )


def test_nobody_may_publish_where_nothing_is_bound() -> None:
    bound = {(binding.exchange, binding.routing_key) for binding in describe(CATALOGUE).bindings}
    for allowed in permissions.describe(CATALOGUE).values():
        for exchange, keys in allowed.routing_keys.items():
            assert {(exchange, key) for key in keys if exchange != EVENTS} <= bound


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_every_message_type_has_a_way_to_its_queue(entry) -> None:
    topology = describe(CATALOGUE)
    bindings = {(binding.exchange, binding.routing_key, binding.queue) for binding in topology.bindings}
    assert entry.queue in {queue.name for queue in topology.queues}
    assert (RETURNS, entry.queue, entry.queue) in bindings
    if entry.kind is MessageKind.COMMAND:
        assert (COMMANDS, entry.queue, entry.queue) in bindings
        assert entry.consumers == (entry.queue.removesuffix("-commands"),)
    else:
        assert (EVENTS, "#", entry.queue) in bindings


def test_every_work_queue_dead_letters_safely_and_within_a_limit() -> None:
    for queue in describe(CATALOGUE).queues:
        assert queue.arguments["x-queue-type"] == "quorum"
        assert queue.arguments["x-delivery-limit"] >= 20
        if not queue.name.endswith("-dlq"):
            # Any one of these missing, and the broker silently dead-letters without confirms.
            assert queue.arguments["x-dead-letter-strategy"] == "at-least-once"
            assert queue.arguments["x-overflow"] == "reject-publish"
            assert queue.arguments["x-dead-letter-exchange"] == "dead-letters"
            assert queue.arguments["x-dead-letter-routing-key"] == queue.name


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_makes_only_messages_it_is_catalogued_to_produce(service: str) -> None:
    payloads = {entry.payload.__name__: entry for entry in CATALOGUE.values()}
    made = {
        node.func.id
        for path in (ROOT / "services" / service / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in payloads
    }
    assert {name for name in made if service not in payloads[name].producers} == set()
    produced = {entry.payload.__name__ for entry in CATALOGUE.values() if entry.producers == (service,)}
    assert produced <= made
