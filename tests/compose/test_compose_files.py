"""The promises of the compose files, read from the files: nothing runs."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.sdk import environment_variables

from brandctl.local.services import PROCESSES
from envelope.brand import SERVICES

ROOT = Path(__file__).parents[2]
NAMES = ("compose.yaml", "compose.observability.yaml", "deploy/compose/images.yaml")
FILES = {name: yaml.safe_load((ROOT / name).read_text()) for name in NAMES}
MAIN = FILES["compose.yaml"]
TOOLS = FILES["compose.observability.yaml"]
IMAGES = FILES["deploy/compose/images.yaml"]["services"]
PAGES = ("jaeger", "prometheus", "alertmanager", "grafana")
ONCE = ("databases", "topology", "users", *(f"migrate-{service}" for service in PROCESSES))
TEXT = "".join((ROOT / name).read_text() for name in NAMES)


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def offered() -> set[str]:
    """Every variable that the example names, including those that it leaves unset."""
    return set(re.findall(r"(?m)^(?:# )?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text()))


def everything() -> dict[str, dict[str, Any]]:
    """Every container, by its name, with the file that describes it most."""
    tools = {name: each for name, each in TOOLS["services"].items() if name not in MAIN["services"]}
    return MAIN["services"] | tools


def test_every_service_and_what_it_takes_is_there() -> None:
    assert set(MAIN["services"]) == {"rabbitmq", "postgres", "brandctl", *ONCE, *PROCESSES, "caddy"}
    assert set(TOOLS["services"]) == {"rabbitmq", *PROCESSES, *PAGES}


@pytest.mark.parametrize("name", everything())
def test_a_container_has_no_rights_that_it_does_not_need(name: str) -> None:
    container = everything()[name]
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["init"] is True
    assert container["mem_limit"]
    assert container["pids_limit"]
    assert container["cpus"]
    assert container["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
    assert "privileged" not in container
    if name not in {"rabbitmq", "postgres"}:
        assert container["read_only"] is True
        temporary = [
            *container["tmpfs"],
            *(volume.split(":")[1] for volume in container.get("volumes", ()) if isinstance(volume, str)),
        ]
        assert "/tmp" in {each.split(":")[0] for each in temporary}
        # The ports of the web are below 1024.
        assert container.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])


@pytest.mark.parametrize("name", ONCE)
def test_what_prepares_runs_once(name: str) -> None:
    assert MAIN["services"][name]["restart"] == "no"


def test_users_are_made_once_their_exchanges_are_there() -> None:
    """RabbitMQ 4.3 refuses a permission on an exchange that it does not have."""
    assert MAIN["services"]["users"]["depends_on"] == {
        "topology": {"condition": "service_completed_successfully"}
    }


@pytest.mark.parametrize("name", [*PROCESSES, "rabbitmq", "postgres", "caddy", *PAGES])
def test_what_stays_has_a_health_check_and_comes_back_by_itself(name: str) -> None:
    container = everything()[name]
    assert container["restart"] == "unless-stopped"
    assert container["healthcheck"]["test"]


def test_docker_starts_few_processes_to_see_whether_all_are_well() -> None:
    """Each takes about 0.07 seconds of processor: what Docker does around it is more than the check itself."""
    staying = [each["healthcheck"] for each in everything().values() if "healthcheck" in each]
    assert len(staying) == len(PROCESSES) + 3 + len(PAGES)
    a_minute = sum(60 / int(each["interval"].removesuffix("s")) for each in staying)
    assert a_minute <= 3 * len(PROCESSES) + 16


def test_nobody_waits_for_a_check_of_the_database_which_is_seldom() -> None:
    """`databases` asks the server itself, and everything else waits for `databases`."""
    assert MAIN["services"]["databases"]["depends_on"] == {"postgres": {"condition": "service_started"}}


def test_the_monitor_sees_the_certificates_of_the_proxy_and_when_the_last_backup_was_made() -> None:
    monitor = MAIN["services"]["monitor"]
    assert MAIN["networks"]["watching"] == {"internal": True}
    there = {name for name, container in everything().items() if "watching" in container["networks"]}
    assert there == {"caddy", "monitor"}
    assert monitor["environment"]["PROXY_ADDRESS"] == "${PROXY_ADDRESS:-${COMPOSE_PROFILES:+caddy:443}}"
    for name in ("PUBLISHER_URL", "SOCIAL_URL", "API_URL", "CONSOLE_URL", "SITE_URLS"):
        assert f"${{{name}:-}}" in monitor["environment"]["CERTIFICATE_URLS"]
    (record,) = (each for each in monitor["volumes"] if each.endswith(":/backup-record:ro"))
    assert record.startswith("${BACKUP_RECORD_FOLDER:-./.backup-record/")
    assert monitor["environment"]["BACKUP_RECORD"] == "/backup-record/last"


@pytest.mark.parametrize("service", PROCESSES)
def test_a_service_starts_once_database_topology_and_users_are_ready_and_stops_without_haste(
    service: str,
) -> None:
    container = MAIN["services"][service]
    conditions = {name: each["condition"] for name, each in container["depends_on"].items()}
    waits_for = (f"migrate-{service}", *(("topology", "users") if service in SERVICES else ()))
    assert conditions == dict.fromkeys(waits_for, "service_completed_successfully")
    grace = int(container["environment"]["SHUTDOWN_GRACE_SECONDS"])
    # Then 5 s each for the outbox, open requests and the broker, and 10 s for the last spans.
    assert int(container["stop_grace_period"].removesuffix("s")) >= grace + 25


@pytest.mark.parametrize("service", PROCESSES)
def test_a_service_has_its_own_broker_user_and_its_own_database(service: str) -> None:
    variable = service.upper()
    environment = MAIN["services"][service]["environment"]
    broker = f"/run/secrets/{variable}_BROKER_URL"
    assert environment.get("RABBITMQ_URL_FILE") == (broker if service in SERVICES else None)
    assert environment["DATABASE_URL_FILE"] == f"/run/secrets/{variable}_DATABASE_URL"
    migration = MAIN["services"][f"migrate-{service}"]
    assert migration["environment"] == {
        "DATABASE_URL_FILE": f"/run/secrets/{variable}_OWNER_URL",
        "DATABASE_RUNTIME_ROLE": f"{service}_runtime",
    }
    assert migration["secrets"] == [f"{variable}_OWNER_URL"]
    assert migration["image"] == MAIN["services"][service]["image"]


def test_what_is_for_everybody_has_an_address_of_its_own_and_all_else_is_for_this_machine() -> None:
    ports = {name: container["ports"] for name, container in everything().items() if "ports" in container}
    ours = {"orchestrator", "publisher", "social", "monitor", "events", "console"}
    assert set(ports) == {*ours, "rabbitmq", "caddy", *PAGES}
    for name, each in ports.items():
        match name:
            case "caddy":
                assert {port.rpartition("}:")[2] for port in each} == {"80", "443", "443/udp"}
                assert all(port.startswith("${TLS_BIND:-0.0.0.0}:${") for port in each)
            case "publisher" | "social":
                assert [port.startswith("${PUBLIC_BIND:-127.0.0.1}:${") for port in each] == [True]
            case _:
                assert [port.startswith("127.0.0.1:${") for port in each] == [True]


def test_figures_are_not_on_a_port_that_visitors_may_reach() -> None:
    for service in PROCESSES:
        container = MAIN["services"][service]
        assert container["environment"]["METRICS_PORT"] == "9464"
        assert not any(port.endswith(":9464") for port in container.get("ports", ()))


ONE_WAY = {"driver_opts": {"com.docker.network.bridge.enable_ip_masquerade": "false"}}
"""A network into which Docker opens ports, and from which nobody gets an answer of the outside."""
TO_A_COLLECTOR = "telemetry${OTEL_EXPORTER_OTLP_ENDPOINT:+-outward}"


def test_the_gateway_has_a_way_out_and_no_other_service() -> None:
    networks = MAIN["networks"] | TOOLS["networks"]
    outward = {
        name for name, network in networks.items() if not network.get("internal") and network != ONE_WAY
    }
    assert outward == {"outside", "certificates", "tools", "telemetry-outward"}
    having = {name for name, container in everything().items() if outward & set(container["networks"])}
    # The proxy fetches certificates and the alert manager sends mail; of ours, neither runs any code.
    assert having == {"gateway", "caddy", *PAGES}
    assert "ports" not in MAIN["services"]["gateway"]


def test_what_has_a_host_port_is_where_one_can_be_opened() -> None:
    networks = MAIN["networks"] | TOOLS["networks"]
    for name, container in everything().items():
        reachable = {
            each
            for each in container["networks"]
            if not networks.get(each, {"internal": True}).get("internal")
        }
        # `./brandctl` publishes one while somebody logs in with a provider.
        publishes = "ports" in container or name == "brandctl"
        assert bool(reachable - {"outside"}) == publishes, name
    assert "logging-in" in MAIN["services"]["brandctl"]["networks"]
    sharing = {name for name, container in everything().items() if "logging-in" in container["networks"]}
    assert sharing == {"brandctl"}


def test_the_gateway_is_asked_by_those_who_need_it() -> None:
    asking = {name for name, container in everything().items() if "gateway" in container["networks"]}
    assert asking == {*SERVICES, "gateway", "console"}


def test_the_proxy_is_believed_where_nobody_else_asks_for_others() -> None:
    """No host port leads there, and `publisher` is found there alone by the proxy."""
    subnet = "${PROXY_NETWORK:-10.213.77.0/24}"
    assert MAIN["networks"]["proxy"] == {"internal": True, "ipam": {"config": [{"subnet": subnet}]}}
    there = {name for name, container in everything().items() if "proxy" in container["networks"]}
    assert there == {"caddy", "orchestrator", "publisher", "social", "events", "console"}
    for name in there - {"caddy"}:
        shared = set(MAIN["services"]["caddy"]["networks"]) & set(MAIN["services"][name]["networks"])
        assert shared == {"proxy"}
        believed = MAIN["services"][name]["environment"]["TRUSTED_PROXIES"]
        assert believed == f"${{TRUSTED_PROXIES:-{subnet}}}"


def test_authorities_of_your_own_are_where_the_services_look_for_them() -> None:
    for service in PROCESSES:
        container = MAIN["services"][service]
        assert container["environment"]["SSL_CERT_FILE"] is None
        mount = "${SSL_CERT_FILE:-/dev/null}:${SSL_CERT_FILE:-/run/no-authorities}:ro"
        assert mount in container["volumes"]


def test_amqp_is_reached_by_the_services_alone() -> None:
    with_the_broker = {
        name
        for name, container in everything().items()
        if {"broker", "administration"} & set(container["networks"])
    }
    assert with_the_broker == {"rabbitmq", "topology", "users", *SERVICES}
    assert set(MAIN["services"]["rabbitmq"]["networks"]) == {"broker", "administration"}
    # Its figures are there too; what else is, runs no code of ours and speaks no AMQP.
    assert TOOLS["services"]["rabbitmq"]["networks"] == ["telemetry"]


def test_only_services_and_their_preparation_reach_the_databases() -> None:
    there = {name for name, container in everything().items() if "database" in container["networks"]}
    assert there == {"postgres", "databases", *PROCESSES, *(f"migrate-{service}" for service in PROCESSES)}


@pytest.mark.parametrize("service", PROCESSES)
def test_a_service_can_run_several_times(service: str) -> None:
    container = MAIN["services"][service]
    assert container["deploy"]["replicas"] == f"${{{service.upper()}_REPLICAS:-1}}"
    assert "container_name" not in container
    assert "hostname" not in container


def test_every_variable_is_in_the_example_with_the_same_default() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", TEXT))
    of_images = {f"{name.upper()}_IMAGE" for name in IMAGES}
    # Written by secrets.sh, as soon as there are settings.
    of_secrets = {f"{name.upper()}_SECRETS" for name in (*PROCESSES, "alertmanager")}
    of_compose = {"COMPOSE_PROJECT_NAME"}
    assert used - offered() == {"VERSION", "REVISION", *of_compose, *of_images, *of_secrets} - offered()
    read_by_scripts = {name for name, value in example().items() if not value}
    assert set(example()) - used == {"COMPOSE_FILE", "COMPOSE_PATH_SEPARATOR"} | read_by_scripts
    told = example()
    for name, default in re.findall(r"\$\{([A-Z_]+):-([^${}]+)\}", TEXT):
        assert told.get(name, default) == default


def test_no_secret_has_a_default_or_stands_in_a_compose_file() -> None:
    """`secrets.sh` refuses to go on without one of them."""
    secrets = {
        name
        for name in example()
        if name in {"SERVICE_KEY", "GATEWAY_KEYS"} or name.endswith("_PASSWORD") or "_TO_" in name
    }
    assert {name for name, value in example().items() if not value} == secrets
    assert set(re.findall(r"\$\{([A-Z_]+)", TEXT)) & secrets == set()
    # Without any default, Docker Compose goes on with an empty one.
    assert re.findall(r"\$\{[A-Z_]+\}", TEXT) == []


def test_settings_fix_no_version() -> None:
    """A `.env` is copied once and kept; its settings outlive every upgrade of the checkout."""
    assert {name for name in example() if name == "VERSION" or name.endswith("_IMAGE")} == set()


def test_the_version_of_the_images_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall(r"\$\{VERSION:-([^}]*)\}", TEXT)) == {project["version"]}
    for service in PROCESSES:
        image = f"brand-engine/{service}:${{VERSION:-{project['version']}}}"
        assert MAIN["services"][service]["image"] == image


def test_images_from_elsewhere_are_named_in_one_place() -> None:
    built = {f"brand-engine/{name}" for name in (*PROCESSES, "brandctl")}
    for name, container in everything().items():
        if "image" in container:
            assert container["image"].split(":")[0] in built
        else:
            extended = container["extends"]
            assert extended["file"] == "deploy/compose/images.yaml"
            assert extended["service"] in {name, "postgres" if name == "databases" else name}
    for name, each in IMAGES.items():
        assert re.fullmatch(rf"\${{{name.upper()}_IMAGE:-[^@}}]+(@sha256:[0-9a-f]{{64}})?}}", each["image"])
    dockerfile = (ROOT / "deploy/images/Dockerfile").read_text()
    default = IMAGES["python"]["image"].removeprefix("${PYTHON_IMAGE:-").removesuffix("}")
    assert f"\nARG PYTHON_IMAGE={default}\n" in dockerfile
    assert set(re.findall(r"(?m)^FROM (\S+)", dockerfile)) <= {
        "${PYTHON_IMAGE}",
        "${CLIENT}",
        "shared",
        "bare",
    }


def test_every_setting_of_the_tracing_sdk_reaches_the_services() -> None:
    known = {name for name in dir(environment_variables) if name.startswith("OTEL_")}
    # Names and addresses are given by us; spans go by HTTP; there are no logs and no figures of its own.
    ours = r"OTEL_(SERVICE_NAME|CONFIG_FILE|EXPERIMENTAL_.+|PROPAGATORS|(TRACES|METRICS|LOGS)_EXPORTER|LOG.*|METRIC.*|BLRP.+|PYTHON.+)"
    others = r"OTEL_EXPORTER_(OTLP_(TRACES_)?(ENDPOINT|PROTOCOL|INSECURE)|OTLP_(METRICS|LOGS)_.+|(JAEGER|ZIPKIN|PROMETHEUS)_.+)"
    wanted = {name for name in known if not re.fullmatch(f"{ours}|{others}", name)}
    assert "OTEL_BSP_MAX_QUEUE_SIZE" in wanted
    for service in PROCESSES:
        environment = MAIN["services"][service]["environment"]
        # Headers may hold the key of a collector.
        headers = {name for name in wanted if name.endswith("_HEADERS")}
        assert {f"{name}_FILE" for name in headers} <= set(environment)
        # Without a value here: taken over where it is set, and absent where it is not.
        absent = {name for name, value in environment.items() if value is None}
        assert absent - {"SSL_CERT_FILE"} == wanted - headers


def test_all_services_reach_a_collector_outside_where_there_is_one() -> None:
    joined = {name for name, container in everything().items() if TO_A_COLLECTOR in container["networks"]}
    assert joined == set(PROCESSES)


@pytest.mark.parametrize("name", ["postgres", "databases"])
def test_any_version_of_the_database_keeps_its_data_in_the_volume(name: str) -> None:
    """Up to 17 the image keeps them in `/var/lib/postgresql/data`, from 18 on below `/var/lib/postgresql`."""
    container = MAIN["services"][name]
    if name == "postgres":
        assert container["environment"]["PGDATA"] == "/var/lib/postgresql/data"
        assert container["volumes"] == ["postgres:/var/lib/postgresql/data"]
    # What the image declares as a volume would otherwise become one without a name, and another with each container.
    assert "/var/lib/postgresql" in container["tmpfs"]


def test_every_mounted_file_is_in_the_repository() -> None:
    mounts = [
        mount.split(":")[0]
        for container in everything().values()
        for mount in container.get("volumes", ())
        if isinstance(mount, str) and mount.startswith("./")
    ]
    assert mounts
    assert [mount for mount in mounts if not (ROOT / mount).exists()] == []


def test_articles_are_put_into_a_folder_of_the_host_once_one_is_named() -> None:
    publisher = MAIN["services"]["publisher"]
    assert publisher["environment"]["PUBLISH_FOLDER"] == "${PUBLISH_FOLDER:+/published}"
    # A read-only container needs something there either way.
    assert "${PUBLISH_FOLDER:-published}:/published" in publisher["volumes"]
    assert "published" in MAIN["volumes"]


def test_secrets_do_not_reach_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert let_in == {
        "requirements.lock", "deploy/images/health.py", "deploy/images/remove_tests.py", "deploy/images/select_requirements.py",
        "shared", "services", "cli", "docs/connect", "docs/connect/*.md",
    }  # fmt: skip
    assert "**/.*" in rules


def test_traces_are_on_disk_for_a_time_and_survive_the_container() -> None:
    """In memory, a number of traces is kept however large they are, and Jaeger is ended for it."""
    jaeger = TOOLS["services"]["jaeger"]
    config = yaml.safe_load((ROOT / "deploy/observability/jaeger/jaeger.yaml").read_text())
    (backend,) = config["extensions"]["jaeger_storage"]["backends"].values()
    badger = backend["badger"]
    assert badger["ephemeral"] is False
    assert badger["ttl"]["spans"] == "${env:TRACES_KEPT:-72h}"
    assert jaeger["environment"]["TRACES_KEPT"] == "${TRACES_KEPT:-72h}"
    (volume,) = [each for each in jaeger["volumes"] if not each.startswith("./")]
    name, folder = volume.split(":")
    assert name in TOOLS["volumes"]
    assert all(each.startswith(f"{folder}/") for each in badger["directories"].values())
    # What comes too fast is refused before it takes the memory of the container.
    limit = config["processors"]["memory_limiter"]["limit_mib"]
    assert limit < 1024 * int(jaeger["mem_limit"].removesuffix("g"))
    assert config["service"]["pipelines"]["traces"]["processors"][0] == "memory_limiter"
