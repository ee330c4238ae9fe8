"""`brandctl backbone` as a process of its own, with a real orchestrator, broker and database; the other services are away."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from chassis.testing import running
from orchestrator.app import build
from orchestrator.settings import Settings
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def operator(
    make_database: Callable[[str], Awaitable[str]], broker_urls: dict[str, str], tmp_path: Path
) -> AsyncIterator[Operator]:
    settings: dict[str, Any] = {
        "database_url": await make_database("orchestrator"),
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": KEY,
        "http_port": 0,
    }
    async with running(build(Settings.model_validate(settings))) as service:
        away = {
            f"{name}_URL": "http://127.0.0.1:9" for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR")
        }
        yield Operator(
            tmp_path,
            {"ORCHESTRATOR_URL": f"http://127.0.0.1:{service.port}", "SERVICE_KEY": KEY, **away},
            "backbone",
        )


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
