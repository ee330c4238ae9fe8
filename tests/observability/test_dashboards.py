"""The dashboards are what their script writes, and show only what is really there to be shown."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from brandctl.local.services import PROCESSES
from chassis import App
from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from messaging.topology import describe

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "observability" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
RULES = ROOT / "deploy" / "observability" / "prometheus" / "alerts.yml"
NAMES = re.compile(r"\b(?:brand_engine|rabbitmq|process)_\w+")

Json = dict[str, Any]


def expressions(dashboard: Path) -> list[str]:
    panels = json.loads(dashboard.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def everything() -> str:
    """All expressions of dashboards and alerts."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    of_rules = [rule["expr"] for group in groups for rule in group["rules"]]
    return "\n".join([*of_rules, *(each for path in DASHBOARDS for each in expressions(path))])


def matched(label: str) -> set[str]:
    """Every value that some selector asks of a label, alternatives apart."""
    values = re.findall(rf'\b{label}=~?"([^"]+)"', everything())
    return {alternative for value in values for alternative in value.split("|")}


# -- form --------------------------------------------------------------------------------------------------------------


def test_the_dashboards_are_what_their_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(GRAFANA / "generate.py"), str(tmp_path)], check=True, timeout=60)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in DASHBOARDS}


def test_there_is_one_for_the_pipeline_one_for_the_backbone_and_one_for_each_service() -> None:
    assert {path.stem for path in DASHBOARDS} == {"pipeline", "backbone", *PROCESSES}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_well_formed(path: Path) -> None:
    dashboard: Json = json.loads(path.read_text())
    assert dashboard["uid"] == f"brand-engine-{path.stem}"
    panels: list[Json] = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert panel["type"] == "row" or panel["targets"]
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        assert not overlap(one, other), (one, other)


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


def test_the_dashboards_ask_the_data_sources_that_are_provisioned() -> None:
    provisioning = GRAFANA / "provisioning" / "datasources" / "datasources.yml"
    provisioned = {source["uid"] for source in yaml.safe_load(provisioning.read_text())["datasources"]}
    asked = {
        asking["datasource"]["uid"]
        for path in DASHBOARDS
        for panel in json.loads(path.read_text())["panels"]
        if panel["type"] != "row"
        for asking in (panel, *panel["targets"])
    }
    assert asked <= provisioned


# -- contents ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def services(
    broker_urls: dict[str, str],
    make_database: Callable[[str], Awaitable[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> AsyncIterator[list[App]]:
    """The services, wired as in production, on a real broker and real databases."""
    monkeypatch.setenv("SERVICE_KEY", "a-key-for-tests-only")
    monkeypatch.setenv("CORPUS", str(tmp_path))
    monkeypatch.setenv("HTTP_PORT", "0")
    # What is counted by provider shows once there is one.
    monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:1")
    # What is watched of backups and certificates, where there are some.
    monkeypatch.setenv("BACKUP_RECORD", str(tmp_path / "last-backup"))
    monkeypatch.setenv("BACKUP_MAX_AGE_HOURS", "30")
    monkeypatch.setenv("PROXY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("CERTIFICATE_URLS", "https://pages.example.org")
    # And what is counted of models, where one is configured.
    for name in ("ORCHESTRATOR_URL", "RESEARCH_URL", "PUBLIC_URL", "MODEL_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with AsyncExitStack() as stack:
        started = []
        for name in PROCESSES:
            monkeypatch.setenv("RABBITMQ_URL", broker_urls.get(name, ""))
            monkeypatch.setenv("DATABASE_URL", await make_database(name))
            app, settings = (importlib.import_module(f"{name}.{module}") for module in ("app", "settings"))
            started.append(await stack.enter_async_context(running(app.build(settings.Settings()))))
        yield started


@pytest.mark.extended
async def test_every_metric_of_dashboards_and_alerts_is_really_there(
    services: list[App], rabbitmq_api: httpx.Client
) -> None:
    listeners = rabbitmq_api.get("/api/overview").json()["listeners"]
    port = next(each["port"] for each in listeners if each["protocol"] == "http/prometheus")
    families = "family=queue_coarse_metrics&family=queue_consumer_count"
    sources = [
        f"http://{rabbitmq_api.base_url.host}:{port}/metrics",
        f"http://{rabbitmq_api.base_url.host}:{port}/metrics/detailed?{families}",
        *(f"http://127.0.0.1:{service.port}/metrics" for service in services),
    ]
    named = set(NAMES.findall(everything()))
    assert len(named) > 20
    async with httpx.AsyncClient(trust_env=False) as client:
        # Requests show once there was one.
        for service in services:
            await client.get(f"http://127.0.0.1:{service.port}/")

        async def missing() -> set[str]:
            shown = [(await client.get(source)).raise_for_status().text for source in sources]
            return named - {name for text in shown for name in re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)}

        async def all_there() -> bool:
            return not await missing()

        try:
            # What is read from tables comes a moment after the start.
            await eventually(all_there)
        except AssertionError:
            assert await missing() == set()  # says which


def test_every_label_that_is_asked_for_can_occur() -> None:
    assert matched("job") <= {*PROCESSES, "rabbitmq"}
    assert matched("type") <= set(CATALOGUE)
    queues = [queue.name for queue in describe(CATALOGUE).queues]
    for pattern in matched("queue"):
        assert any(re.fullmatch(pattern, queue) for queue in queues), pattern
