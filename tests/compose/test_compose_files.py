"""What the compose files promise, read from the files: nothing runs."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from envelope.brand import SERVICES

ROOT = Path(__file__).parents[2]
FILES = {
    name: yaml.safe_load((ROOT / name).read_text()) for name in ("compose.yaml", "compose.observability.yaml")
}
MAIN = FILES["compose.yaml"]
TOOLS = FILES["compose.observability.yaml"]
ONCE = ("databases", "topology", "users", *(f"migrate-{service}" for service in SERVICES))
OPTIONAL = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "MAX_ATTEMPTS",
    "RETRY_BASE_SECONDS",
    "DATABASE_CONNECTIONS",
    "WRITERS",
    "STALL_AFTER_HOURS",
    "KEEP_CYCLES_DAYS",
    "RETENTION_DAYS",
    "PUBLISHER_URL",
    "SOCIAL_URL",
    "REVISION",
}


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def everything() -> dict[str, dict[str, Any]]:
    """Every container, by its name, with the file that describes it most."""
    tools = {name: each for name, each in TOOLS["services"].items() if name not in MAIN["services"]}
    return MAIN["services"] | tools


def test_every_service_and_what_it_takes_is_there() -> None:
    assert set(MAIN["services"]) == {"rabbitmq", "postgres", *ONCE, *SERVICES}
    assert set(TOOLS["services"]) == {"rabbitmq", *SERVICES, "jaeger", "prometheus", "grafana"}


@pytest.mark.parametrize("name", everything())
def test_a_container_has_no_rights_that_it_does_not_need(name: str) -> None:
    container = everything()[name]
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["init"] is True
    assert container["mem_limit"]
    assert container["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
    assert "privileged" not in container
    if name not in {"rabbitmq", "postgres"}:
        assert container["read_only"] is True
        assert container["tmpfs"][0].split(":")[0] == "/tmp"
        assert "cap_add" not in container


@pytest.mark.parametrize("name", ONCE)
def test_what_prepares_runs_once(name: str) -> None:
    assert MAIN["services"][name]["restart"] == "no"


def test_users_are_made_once_their_exchanges_are_there() -> None:
    """RabbitMQ 4.3 refuses a permission on an exchange that it does not have."""
    assert MAIN["services"]["users"]["depends_on"] == {
        "topology": {"condition": "service_completed_successfully"}
    }


@pytest.mark.parametrize("name", [*SERVICES, "rabbitmq", "postgres", "jaeger", "prometheus", "grafana"])
def test_what_stays_has_a_health_check_and_comes_back_by_itself(name: str) -> None:
    container = everything()[name]
    assert container["restart"] == "unless-stopped"
    assert container["healthcheck"]["test"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_once_database_topology_and_users_are_ready_and_stops_without_haste(
    service: str,
) -> None:
    container = MAIN["services"][service]
    conditions = {name: each["condition"] for name, each in container["depends_on"].items()}
    waits_for = (f"migrate-{service}", "topology", "users")
    assert conditions == dict.fromkeys(waits_for, "service_completed_successfully")
    grace = int(container["environment"]["SHUTDOWN_GRACE_SECONDS"])
    # Then 5 s each for the outbox, open requests and the broker, and 10 s for the last spans.
    assert int(container["stop_grace_period"].removesuffix("s")) >= grace + 25


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_its_own_broker_user_and_its_own_database(service: str) -> None:
    variable = service.upper()
    environment = MAIN["services"][service]["environment"]
    assert environment["RABBITMQ_URL"] == f"amqp://{service}:${{{variable}_BROKER_PASSWORD}}@rabbitmq:5672/"
    database = f"postgresql://{service}:${{{variable}_DATABASE_PASSWORD}}@postgres:5432/{service}"
    assert environment["DATABASE_URL"] == database
    migration = MAIN["services"][f"migrate-{service}"]
    assert migration["environment"] == {"DATABASE_URL": database}
    assert migration["image"] == MAIN["services"][service]["image"]


def test_host_ports_are_on_the_loopback_interface_unless_told_otherwise() -> None:
    ports = {name: container["ports"] for name, container in everything().items() if "ports" in container}
    assert set(ports) == {
        "orchestrator", "publisher", "social", "monitor", "rabbitmq", "jaeger", "prometheus", "grafana",
    }  # fmt: skip
    for (port,) in ports.values():
        assert port.startswith("${BIND:-127.0.0.1}:${")


def test_only_what_has_a_host_port_has_a_way_out() -> None:
    networks = MAIN["networks"] | TOOLS["networks"]
    assert {name for name, network in networks.items() if not network.get("internal")} == {"front"}
    for container in everything().values():
        assert ("front" in container["networks"]) == ("ports" in container)


def test_only_services_and_their_preparation_reach_the_databases() -> None:
    there = {name for name, container in everything().items() if "database" in container["networks"]}
    assert there == {"postgres", "databases", *SERVICES, *(f"migrate-{service}" for service in SERVICES)}


def test_research_can_run_several_times() -> None:
    research = MAIN["services"]["research"]
    assert "ports" not in research
    assert "container_name" not in research
    assert "hostname" not in research


def test_every_variable_is_in_the_example_with_the_same_default() -> None:
    text = "".join((ROOT / name).read_text() for name in FILES)
    used = set(re.findall(r"\$\{([A-Z_]+)", text))
    told = example()
    assert used - OPTIONAL <= set(told)
    assert set(told) - used == {"COMPOSE_FILE", "COMPOSE_PATH_SEPARATOR"}
    for name, default in re.findall(r"\$\{([A-Z_]+):-([^${}]+)\}", text):
        assert told.get(name, default) == default


def test_no_secret_has_a_default() -> None:
    text = "".join((ROOT / name).read_text() for name in FILES)
    secrets = {name for name in example() if name == "SERVICE_KEY" or name.endswith("_PASSWORD")}
    assert {name for name, value in example().items() if not value} == secrets
    # Without any default, Docker Compose itself warns when one is not set.
    assert set(re.findall(r"\$\{([A-Z_]+)\}", text)) == secrets


def test_the_version_of_the_images_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert example()["VERSION"] == project["version"]
    for service in SERVICES:
        image = f"brand-engine/{service}:${{VERSION:-{project['version']}}}"
        assert MAIN["services"][service]["image"] == image


def test_every_mounted_file_is_in_the_repository() -> None:
    mounts = [
        mount.split(":")[0]
        for container in everything().values()
        for mount in container.get("volumes", ())
        if isinstance(mount, str) and mount.startswith("./")
    ]
    assert mounts
    assert [mount for mount in mounts if not (ROOT / mount).exists()] == []


def test_secrets_do_not_reach_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert let_in == {
        "requirements.lock", "deploy/images/health.py", "deploy/images/select_requirements.py", "shared", "services",
    }  # fmt: skip
    assert "**/.*" in rules
