"""Every setting of every service can be set where it runs in containers: by compose.yaml, and by the manifests of Kubernetes."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from brandctl.local.services import PROCESSES
from chassis.settings import MigrationSettings, is_secret
from envelope.brand import SERVICES
from manifests.rendering import HOME

ROOT = Path(__file__).parents[2]
OF_THE_IMAGE = {
    "HTTP_HOST": "a container listens on all of its addresses",
    "SERVICE_VERSION": "an image knows its version",
    "REVISION": "and its sources",
}
FIXED_IN_COMPOSE = OF_THE_IMAGE | {
    "HTTP_PORT": "the port by which the others know it; the port of the host is a setting",
    "METRICS_PORT": "Prometheus asks it there",
    "LOG_FORMAT": "Docker keeps lines",
    "SHUTDOWN_GRACE_SECONDS": "it goes with stop_grace_period",
    "CORPUS": "where the folder of the setting is mounted",
    "BACKUP_RECORD": "in the folder of BACKUP_RECORD_FOLDER, which is mounted there",
    **dict.fromkeys(
        (
            "EVENTS_URL",
            "GATEWAY_URL",
            "MONITOR_URL",
            "ORCHESTRATOR_URL",
            "PAGES_URL",
            "PUBLISHER_URL",
            "RESEARCH_URL",
            "SOCIAL_URL",
        ),
        "another container, by its name",
    ),
}
CALLED_OTHERWISE_IN_COMPOSE = {
    ("publisher", "PUBLIC_URL"): "PUBLISHER_URL",
    ("social", "PUBLIC_URL"): "SOCIAL_URL",
    ("monitor", "PUBLIC_URL"): "MONITOR_URL",
}
FIXED_ON_KUBERNETES = {
    "HTTP_PORT": "the port of the Service",
    "CORPUS": "where the volume is mounted",
    "PUBLIC_URL": "PUBLISHER_PUBLIC_URL and SOCIAL_PUBLIC_URL of the settings: two services have one name for it",
    "RABBITMQ_URL": "of the user of each service; host and options are settings",
    "DATABASE_URL": "of the role of each service",
    "SHUTDOWN_GRACE_SECONDS": "the gateway has one of its own, which goes with terminationGracePeriodSeconds",
}
CONNECTED_ON_KUBERNETES = {
    **dict.fromkeys(
        ("BRAVE_API_KEY", "GATEWAY_MODEL_API_KEY"),
        "an operator connects providers (`brandctl providers connect`)",
    ),
    "MOVES_KEY": "an overlay gives it to the gateway while brands move",
    "RABBITMQ_API_URL": "users of other systems are made with `brandctl broker-users`, unless an overlay gives the monitor the address",
}
"""Secrets that no manifest names."""


def settings_of(service: str) -> dict[str, Any]:
    """By the variable of each."""
    fields = importlib.import_module(f"{service}.settings").Settings.model_fields
    return {name.upper(): field for name, field in fields.items()}


def environment_of(service: str) -> dict[str, Any]:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    environment: dict[str, Any] = compose["services"][service]["environment"]
    return environment


@pytest.mark.extended
@pytest.mark.parametrize("service", PROCESSES)
def test_every_setting_reaches_the_container(service: str) -> None:
    environment = environment_of(service)
    for name, field in settings_of(service).items():
        if is_secret(field):
            assert f"{name}_FILE" in environment
        elif name == "GATEWAY_KEYS_FILE":
            assert environment[name] == "/run/secrets/GATEWAY_KEYS"
        elif name not in FIXED_IN_COMPOSE:
            setting = CALLED_OTHERWISE_IN_COMPOSE.get((service, name), name)
            assert f"${{{setting}:" in str(environment.get(name)), f"{service} is not given {name}"


@pytest.mark.parametrize("service", PROCESSES)
def test_authorities_are_named_to_every_container(service: str) -> None:
    """No field of the settings: OpenSSL's own variable."""
    assert "SSL_CERT_FILE" in environment_of(service)


def test_what_is_fixed_in_compose_is_a_setting_and_fixed_there() -> None:
    names = {name for service in PROCESSES for name in settings_of(service)}
    assert set(FIXED_IN_COMPOSE) <= names
    for service in PROCESSES:
        for name, value in environment_of(service).items():
            if name in FIXED_IN_COMPOSE:
                assert not re.search(r"\$\{", str(value)), f"{name} of {service} can be set: it is not fixed"


@pytest.mark.extended
def test_every_variable_of_a_container_is_a_setting_of_its_service() -> None:
    """No container would get a mistyped name."""
    others = {"NO_PROXY", "no_proxy", "SSL_CERT_FILE"}
    for service in PROCESSES:
        known = settings_of(service).keys() | others
        for name in environment_of(service):
            plain = name.removesuffix("_FILE")
            shared = (
                {"MAX_ATTEMPTS", "MESSAGE_LEDGER", "RETRY_BASE_SECONDS"} if service not in SERVICES else set()
            )
            assert name.startswith("OTEL_") or {name, plain} & (known | shared), f"{name} of {service}"


def deployment_of(service: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The environment that the manifests give, and all of the container that every service shares."""
    documents = yaml.safe_load_all((HOME / f"base/services/{service}.yaml").read_text())
    (own,) = [each for each in documents if each["kind"] == "Deployment"]
    (common,) = yaml.safe_load_all((HOME / "base/every-service.yaml").read_text())
    (container,) = own["spec"]["template"]["spec"]["containers"]
    (shared,) = common["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each for each in container["env"]}, shared


@pytest.mark.parametrize("service", PROCESSES)
def test_every_setting_reaches_the_pod(service: str) -> None:
    """An entry of the config map `settings` arrives under the name of the setting, unless the service's manifest sets another."""
    own, shared = deployment_of(service)
    assert shared["envFrom"] == [{"configMapRef": {"name": "settings"}}]
    assert "env" not in shared
    for name, field in settings_of(service).items():
        if is_secret(field):
            assert name in own or name in CONNECTED_ON_KUBERNETES, f"{service} is not given {name}"
        else:
            assert name not in own or name in FIXED_ON_KUBERNETES, f"{name} of {service} cannot be set"


def test_settings_of_the_manifests_are_settings_of_services() -> None:
    lines = (HOME / "base/settings.env").read_text().splitlines()
    named = {line.split("=", 1)[0] for line in lines if line and not line.startswith("#")}
    known = {name for service in PROCESSES for name in settings_of(service)}
    known |= {name.upper() for name in MigrationSettings.model_fields}
    # Parts of addresses.
    parts = {"BROKER_SCHEME", "BROKER_ADDRESS", "BROKER_OPTIONS", "PUBLISHER_PUBLIC_URL", "SOCIAL_PUBLIC_URL"}
    assert named - known == parts
    assert "TRUSTED_PROXIES" in named
