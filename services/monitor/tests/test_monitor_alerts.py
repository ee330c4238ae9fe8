"""Alerts of a real Prometheus and a real Alertmanager: seen, acknowledged, silenced with an end, and told again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from chassis.http.client import Peer
from chassis.http.service_key import ServiceKey
from chassis.testing import eventually, serving
from messaging import Database
from monitor.alerts import AlertmanagerClient, PrometheusClient
from monitor.alerts.domain import readable, with_runbook
from monitor.dead_letters import DeadLetterOperations
from monitor.http_api import create_api
from tests.fixtures.alerting import Alerting, alerting

KEY = "test-service-key-0123456789"
ALERTS = "/v1/alerts"


@asynccontextmanager
async def asking(
    database: Database, prometheus: str | None, alertmanager: str | None, runbooks: str | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """The API of a monitor with these addresses."""
    clients = (
        None
        if prometheus is None
        else PrometheusClient(Peer("Prometheus", prometheus, "PROMETHEUS_URL", None)),
        None
        if alertmanager is None
        else AlertmanagerClient(Peer("Alertmanager", alertmanager, "ALERTMANAGER_URL", None)),
    )
    app = create_api(
        database,
        DeadLetterOperations(database),
        ServiceKey(SecretStr(KEY)),
        prometheus=clients[0],
        alertmanager=clients[1],
        runbooks=runbooks,
    )
    async with (
        serving(app) as origin,
        httpx.AsyncClient(
            base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
        ) as client,
    ):
        yield client
    for each in clients:
        if each is not None:
            await each.aclose()


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Alerting]:
    async with alerting(tmp_path) as found:
        yield found


def test_a_rule_is_readable_without_the_values_of_an_alert() -> None:
    summary = "{{ $value | humanizePercentage }} of {{ $labels.queue }} fail in {{$labels.job}}"
    assert readable(summary) == "… of (queue) fail in (job)"


def test_a_runbook_has_an_address_if_it_is_known_where_runbooks_are() -> None:
    assert with_runbook("docs/a.md#b", None) == ""
    assert (
        with_runbook("docs/a.md#b", "https://git.example.org/x/") == "https://git.example.org/x/docs/a.md#b"
    )
    assert with_runbook("https://runbooks.example.org/a", None) == "https://runbooks.example.org/a"
    assert with_runbook("", "https://git.example.org") == ""


async def test_an_alert_is_seen_acknowledged_silenced_and_told_again(
    database: Database, both: Alerting
) -> None:
    async with asking(database, both.prometheus_url, both.alertmanager_url, "https://git.example.org") as api:
        found = (await api.get(ALERTS)).json()
        assert found["prometheus"] == found["alertmanager"] == {"is_connected": True, "problem": None}
        (alert,) = found["alerts"]
        assert (alert["name"], alert["severity"], alert["state"]) == ("DeadLettersOpen", "warning", "firing")
        assert alert["summary"] == "3 dead letters of social-commands wait for a decision"
        assert alert["runbook_url"] == "https://git.example.org/docs/operations/alerts.md#deadlettersopen"
        rules = {each["name"]: each for each in found["rules"]}
        assert (rules["DeadLettersOpen"]["state"], rules["DeadLettersOpen"]["firing"]) == ("firing", 1)
        assert rules["OutboxStuck"]["state"] == "inactive"
        assert rules["OutboxStuck"]["summary"] == "the outbox of (job) is stuck"

        place = f"{ALERTS}/{alert['id']}"
        first = (await api.post(f"{place}/acknowledge", json={"by": "Ada", "note": "I look"})).json()
        again = (await api.post(f"{place}/acknowledge", json={"by": "Bob"})).json()
        assert (first["is_changed"], again["is_changed"], again["acknowledged"]["by"]) == (True, False, "Ada")

        ends_at = datetime.now(UTC) + timedelta(hours=2)
        body = {"reason": "being repaired", "ends_at": ends_at.isoformat(), "by": "Ada"}
        silenced = (await api.post(f"{place}/silence", json=body)).json()
        # Once more, with another end: it is the same silence.
        later = body | {"ends_at": (ends_at + timedelta(hours=1)).isoformat()}
        assert (await api.post(f"{place}/silence", json=later)).json()["silence_id"] == silenced["silence_id"]

        async def is_silenced() -> bool:
            return (await api.get(ALERTS)).json()["alerts"][0]["state"] == "silenced"

        await eventually(is_silenced)
        found = (await api.get(ALERTS)).json()
        assert found["alerts"][0]["acknowledged"]["note"] == "I look"
        assert found["alerts"][0]["silences"] == [silenced["silence_id"]]
        (silence,) = found["silences"]
        assert (silence["by"], silence["reason"]) == ("Ada", "being repaired")
        assert datetime.fromisoformat(silence["ends_at"]) - ends_at > timedelta(minutes=59)

        end = f"{ALERTS}/silences/{silenced['silence_id']}/end"
        assert (await api.post(end, json={"by": "Bob"})).json() == {"is_changed": True}
        assert (await api.post(end)).json() == {"is_changed": False}

        async def fires_again() -> bool:
            return (await api.get(ALERTS)).json()["alerts"][0]["state"] == "firing"

        await eventually(fires_again)
        assert (await api.get(ALERTS)).json()["silences"] == []


async def test_what_cannot_be_is_refused(database: Database, both: Alerting) -> None:
    async with asking(database, None, both.alertmanager_url) as api:
        (alert,) = (await api.get(ALERTS)).json()["alerts"]
        place, now = f"{ALERTS}/{alert['id']}", datetime.now(UTC)
        for ends_at in (now - timedelta(minutes=1), now + timedelta(days=31)):
            body = {"reason": "x", "ends_at": ends_at.isoformat()}
            assert (await api.post(f"{place}/silence", json=body)).status_code == 422
        body = {"reason": "x", "ends_at": (now + timedelta(hours=1)).isoformat()}
        for path, code in (
            ("0123/silence", "unknown_alert"),
            ("0123/acknowledge", "unknown_alert"),
            (f"silences/{uuid4()}/end", "unknown_silence"),
        ):
            given = body if path.endswith("silence") else {}
            answer = await api.post(f"{ALERTS}/{path}", json=given)
            assert (answer.status_code, answer.json()["code"]) == (404, code), path


async def test_without_addresses_and_with_one_that_is_away_the_rest_is_there(
    database: Database, both: Alerting
) -> None:
    body: dict[str, Any] = {"reason": "x", "ends_at": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    async with asking(database, None, None) as api:
        found = (await api.get(ALERTS)).json()
        assert (found["alerts"], found["rules"], found["alertmanager"]["is_connected"]) == ([], [], False)
        answer = await api.post(f"{ALERTS}/0123/silence", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "alertmanager_not_configured")
    async with asking(database, both.prometheus_url, "http://127.0.0.1:9") as api:
        found = (await api.get(ALERTS)).json()
        assert "does not answer" in found["alertmanager"]["problem"]
        assert [each["name"] for each in found["rules"]] == ["DeadLettersOpen", "OutboxStuck"]
        answer = await api.post(f"{ALERTS}/0123/silence", json=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "alerts_not_read")
    async with asking(database, both.prometheus_url, None) as api:
        # Prometheus alone knows what fires, and its alerts can be acknowledged.
        (alert,) = (await api.get(ALERTS)).json()["alerts"]
        assert (await api.post(f"{ALERTS}/{alert['id']}/acknowledge", json={})).json()["is_changed"]
