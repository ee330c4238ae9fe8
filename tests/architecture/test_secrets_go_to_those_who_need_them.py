"""A service is given the secrets that it uses and no other, whichever way it is run."""

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from brandctl.local import services
from chassis.settings import is_secret
from envelope.brand import PAIRS, SERVICES
from manifests.rendering import HOME

ROOT = Path(__file__).parents[2]


def of_the_library(service: str) -> set[str]:
    """The variables that the library reads."""
    return {"DATABASE_URL", "RABBITMQ_URL"} if service in SERVICES else {"DATABASE_URL"}


OF_PROVIDERS = {"BRAVE_API_KEY", "GATEWAY_KEYS", "GATEWAY_MODEL_API_KEY", "MOVES_KEY", "OIDC_CLIENT_SECRET"}
"""For the gateway alone."""


def of_providers(service: str) -> set[str]:
    return OF_PROVIDERS if service == "gateway" else set()


def of_broker(service: str) -> set[str]:
    """The monitor makes users of other systems, if an operator gives it the address."""
    return {"RABBITMQ_API_URL"} if service == "monitor" else set()


def of_standby(service: str) -> set[str]:
    """The publisher may read its sites from a standby; `make run` has none."""
    return {"REPLICA_DATABASE_URL"} if service == "publisher" else set()


def of_pairs(service: str) -> set[str]:
    """Of those that it asks, and those that ask it: no other's."""
    return {"_TO_".join(pair).upper() + "_KEY" for pair in PAIRS if service in pair}


def used(service: str) -> set[str]:
    """The settings that the service's composition root reads."""
    tree = ast.parse((ROOT / f"services/{service}/src/{service}/app.py").read_text())
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "settings"
    }


def declared(service: str) -> set[str]:
    """The secrets among its settings, as variables."""
    fields = importlib.import_module(f"{service}.settings").Settings.model_fields
    return {name.upper() for name, field in fields.items() if is_secret(field)}


def secret_variables(names: Any) -> set[str]:
    named = {name for name in names if name.endswith(("_URL", "_KEY", "_KEYS", "_PASSWORD"))}
    # OpenTelemetry's are names of files.
    return {name for name in named if not is_address(name) and not name.startswith("OTEL_")}


def is_address(name: str) -> bool:
    """Of a service, or of where pages are found: no secret is in it."""
    return (
        name
        in {
            "PUBLIC_URL",
            "PAGES_URL",
            "SEARXNG_URL",
            "MODEL_URL",
            "GATEWAY_MODEL_URL",
            "JAEGER_PUBLIC_URL",
            "PROMETHEUS_URL",
            "ALERTMANAGER_URL",
            "RUNBOOK_URL",
            "BROKER_PUBLIC_URL",
        }
        or name.removesuffix("_URL").lower() in services.PROCESSES
    )


@pytest.mark.parametrize("service", services.PROCESSES)
def test_a_service_asks_for_the_secrets_that_it_uses(service: str) -> None:
    needed = {name.upper() for name in used(service)} & {"SERVICE_KEY"}
    assert declared(service) == of_the_library(service) | needed | of_pairs(service) | of_providers(
        service
    ) | of_broker(service) | of_standby(service)


@pytest.mark.parametrize("service", services.PROCESSES)
def test_on_this_machine(service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POSTGRES_URL", "RABBITMQ_API_URL", "SERVICE_KEY", "RABBITMQ_URL", "REPLICA_DATABASE_URL"):
        monkeypatch.setenv(name, "an-administrators")
    for name in OF_PROVIDERS:
        monkeypatch.setenv(name, "a-providers")
    given = services.environment(
        service,
        addresses=services.ServiceAddresses(dict.fromkeys(services.PROCESSES, 8000)),
        rabbitmq_url="amqp://own" if service in SERVICES else None,
        database_url="postgresql://own",
        service_key="the-key",
        corpus=tmp_path,
        broker_api="http://own-administrators",
    )
    secrets = {"SERVICE_KEY", "POSTGRES_URL", "RABBITMQ_API_URL", *OF_PROVIDERS, *declared(service)}
    assert given.keys() & secrets == declared(service) - of_standby(service)
    assert ("a-providers" in given.values()) == (service == "gateway")
    assert "an-administrators" not in given.values()
    # It can tell who runs the system, and cannot pass for him.
    assert "the-key" not in given.values()
    assert given["SERVICE_KEY"].startswith("sha256:")


@pytest.mark.parametrize("service", services.PROCESSES)
def test_in_containers(service: str) -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    given = compose["services"][service]["environment"]
    assert secret_variables(given) == set()
    of_the_sdk = {"OTEL_EXPORTER_OTLP_HEADERS_FILE", "OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE"}
    files = {name for name, value in given.items() if "/run/secrets/" in str(value)} - of_the_sdk
    assert files == {f"{name}_FILE" for name in declared(service)}
    assert given["SERVICE_KEY_FILE"] == "/run/secrets/SERVICE_KEY_HASH"


@pytest.mark.parametrize("service", services.PROCESSES)
def test_on_kubernetes(service: str) -> None:
    documents = yaml.safe_load_all((HOME / f"base/services/{service}.yaml").read_text())
    (common,) = yaml.safe_load_all((HOME / "base/every-service.yaml").read_text())
    (own,) = [each for each in documents if each["kind"] == "Deployment"]
    given: dict[str, set[str]] = {}
    for deployment in (common, own):
        for container in deployment["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env", []):
                if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                    given.setdefault(reference["name"], set()).add(variable["name"])
    needed = {f"{service}-broker", f"{service}-runtime"} if service in SERVICES else {f"{service}-runtime"}
    if service == "gateway":
        needed |= {
            "gateway-keys",
            "oidc-client",
        }  # those of providers are connected by an operator, and kept with it
    if service == "publisher":
        needed.add("publisher-replica")
    pairs = {"-to-".join(pair) for pair in PAIRS if service in pair}
    assert set(given) == needed | {"service-key-hash"} | pairs
