"""`brandctl backbone` as a process of its own, with a real orchestrator, broker and database; the other services are away."""

import pytest

from tests.fixtures.commands.brandctl import Operator


@pytest.fixture
def operator(lone_orchestrator: Operator) -> Operator:
    return lone_orchestrator.of("backbone")


async def test_each_service_answers_for_its_part_and_who_is_away_is_named(operator: Operator) -> None:
    plain = await operator()
    assert plain.code == 1
    assert all(name in plain.err for name in ("research", "publisher", "social", "monitor"))
    heading, line = plain.out.splitlines()
    assert heading == "service\tversion\tstate\tqueues\toutbox\tdue\toldest\taway"
    service, _, state, queues, *_ = line.split("\t")
    assert (service, state) == ("orchestrator", "ready")
    assert "orchestrator-events 0 (1 consumers)" in queues

    part = (await operator("--json")).json()["services"][0]
    assert {each["queue"] for each in part["queues"]} == {"orchestrator-events", "orchestrator-commands"}
    assert all(each["is_consumed"] for each in part["queues"])
    assert part["outbox"]["due"] == 0
