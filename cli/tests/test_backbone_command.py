"""`brandctl backbone` and `brandctl queues` as processes of their own, with a real orchestrator, broker and database; the other services are away."""

import pytest

from tests.fixtures.commands.brandctl import Operator


@pytest.fixture
def operator(lone_orchestrator: Operator) -> Operator:
    return lone_orchestrator


async def test_each_service_answers_for_its_part_and_who_is_away_is_named(operator: Operator) -> None:
    plain = await operator("backbone")
    assert plain.code == 1
    assert all(name in plain.err for name in ("research", "publisher", "social", "monitor"))
    heading, line = plain.out.splitlines()
    assert heading == "service\tversion\tstate\tqueues\toutbox\tdue\toldest\taway"
    service, _, state, queues, *_ = line.split("\t")
    assert (service, state) == ("orchestrator", "ready")
    assert "orchestrator-events 0 (1 consumers)" in queues

    part = (await operator("backbone", "--json")).json()["services"][0]
    assert {each["queue"] for each in part["queues"]} == {"orchestrator-events", "orchestrator-commands"}
    assert all(each["is_consumed"] for each in part["queues"])
    assert part["outbox"]["due"] == 0


async def test_a_queue_is_paused_once_and_resumed(operator: Operator) -> None:
    first = await operator("queues", "pause", "orchestrator-events", "--reason", "a look", "--by", "olga")
    assert first.code == 0, first.err
    assert "orchestrator-events is paused by olga since" in first.err
    again = await operator("queues", "pause", "orchestrator-events", "--reason", "another", "--by", "pat")
    assert "was paused already by olga" in again.err
    assert "paused by olga: a look" in (await operator("backbone")).out
    assert (await operator("queues", "resume", "orchestrator-events", "--json")).json()["is_changed"]
    assert "was not paused" in (await operator("queues", "resume", "orchestrator-events")).err

    unknown = await operator("queues", "pause", "nowhere", "--reason", "a look")
    assert unknown.code == 1
    assert "no service that answered consumes nowhere" in unknown.err
