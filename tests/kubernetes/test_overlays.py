"""Both overlays are valid, keep the rules, and say what the code says."""

import hashlib
import importlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from chassis import AppSettings
from envelope.brand import DEPLOYED, SERVICES
from gateway.egress import addresses
from manifests import credentials, generation, policies, schemas
from manifests.cluster import Cluster, environment
from manifests.rendering import HOME, OVERLAYS, render
from messaging import ServiceSettings
from messaging.topology import Binding

ROOT = Path(__file__).parents[2]
NAMES = [path.name for path in OVERLAYS]


@pytest.mark.extended
@pytest.mark.parametrize("name", NAMES)
def test_every_resource_is_valid_and_every_rule_kept(overlay, name: str) -> None:
    resources = overlay(name)
    assert list(schemas.problems(resources)) == []
    assert list(policies.problems(Cluster(name, resources))) == []


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    stale = [path.name for path, text in generation.files().items() if path.read_text() != text]
    assert stale == [], "run: make schemas"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("service", DEPLOYED)
def test_a_service_can_be_configured_by_its_manifest(
    overlay, name: str, service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And by that alone: a variable that the service does not know is a misspelt one."""
    cluster = Cluster(name, overlay(name))
    variables = environment_of(cluster, f"Deployment/{service}") | {"CORPUS": str(tmp_path)}
    if "GATEWAY_KEYS" in variables:
        variables["GATEWAY_KEYS"] = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="  # no other text is one
    if "REPLICA_DATABASE_URL" in variables:
        variables["REPLICA_DATABASE_URL"] = "postgresql://a-user:a-password@postgres-ro:5432/publisher"
    for variable in os.environ:
        monkeypatch.delenv(variable)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    module = importlib.import_module(f"{service}.settings")
    settings: AppSettings = module.Settings()
    assert settings.http_host == "0.0.0.0"
    assert settings.http_port == {"orchestrator": 8010, "research": 8011}.get(service, settings.http_port)
    scheme, address = {"dev": ("amqp", "rabbitmq:5672"), "prod": ("amqps", "rabbitmq:5671")}[name]
    if isinstance(settings, ServiceSettings):
        assert settings.rabbitmq_url.get_secret_value().startswith(
            f"{scheme}://{service}:a-{service}-broker-password@{address}/%2F"
        )
    else:
        assert service not in SERVICES
        assert "RABBITMQ_URL" not in variables
    assert settings.database_url.get_secret_value().startswith(
        f"postgresql://{service}_runtime:a-{service}-runtime-password@"
    )
    # The last two are read by the database's driver.
    others = {"BROKER_PASSWORD", "DATABASE_PASSWORD", "PGSSLMODE", "PGSSLROOTCERT"}
    own = set(environment(cluster_container(cluster, service))) - others
    assert own <= {field.upper() for field in type(settings).model_fields}


def cluster_container(cluster: Cluster, service: str) -> Mapping[str, Any]:
    (container,) = next(each for each in cluster.services if each.name == service).main_containers
    return container


def environment_of(cluster: Cluster, workload: str, container: str | None = None) -> dict[str, str]:
    """The variables as the container would see them; a secret's value tells its name and key."""
    found = next(each for each in cluster.workloads if str(each) == workload)
    wanted = next(each for each in found.containers if container in {None, each["name"]})
    values = dict(cluster.settings) if wanted.get("envFrom") else {}
    for name, value in environment(wanted).items():
        match value:
            case str():
                values[name] = re.sub(r"\$\((\w+)\)", lambda match: values[match[1]], value)
            case {"secretKeyRef": {"name": secret, "key": key}}:
                values[name] = f"a-{secret}-{key}"
            case {"configMapKeyRef": {"name": config, "key": key}}:
                values[name] = cluster.find("ConfigMap", config)["data"][key]  # type: ignore[index]
            case _:
                pytest.fail(f"{name}: {value}")
    return values


@pytest.mark.extended
def test_articles_are_put_as_files_where_the_component_for_it_is_added(
    kubectl: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, overlay
) -> None:
    assert "PUBLISH_FOLDER" not in environment_of(Cluster("prod", overlay("prod")), "Deployment/publisher")
    overlay_with = elsewhere / "overlays" / "prod"
    replace(
        overlay_with / "kustomization.yaml",
        "  - ../../components/order\n",
        "  - ../../components/publish-folder\n  - ../../components/order\n",
    )
    monkeypatch.setenv("KUBECTL", str(kubectl))
    resources = render(overlay_with)
    cluster = Cluster("prod", resources)
    assert [*schemas.problems(resources), *policies.problems(cluster)] == []
    assert environment_of(cluster, "Deployment/publisher")["PUBLISH_FOLDER"] == "/published"
    claim = cluster.find("PersistentVolumeClaim", "published")
    # Two replicas on two nodes write to it, and it outlives a release without it.
    assert claim is not None
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "Prune=false" in claim["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]


@pytest.mark.extended
def test_sites_have_hosts_of_their_own_where_the_component_for_it_is_added(
    kubectl: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay_with = elsewhere / "overlays" / "prod"
    replace(
        overlay_with / "kustomization.yaml",
        "  - ../../components/order\n",
        "  - ../../components/ingress-own-hosts\n  - ../../components/order\n",
    )
    monkeypatch.setenv("KUBECTL", str(kubectl))
    resources = render(overlay_with)
    cluster = Cluster("prod", resources)
    assert [*schemas.problems(resources), *policies.problems(cluster)] == []
    assert cluster.find("Ingress", "own-hosts") is not None


@pytest.mark.extended
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("service", ["orchestrator", "social"])
def test_pages_and_their_pictures_are_read_inside(overlay, name: str, service: str) -> None:
    found = environment_of(Cluster(name, overlay(name)), f"Deployment/{service}")
    assert found["PAGES_URL"] == "http://publisher:8012"


def test_the_settings_that_services_share_are_all_known(overlay) -> None:
    known = {
        field.upper()
        for service in DEPLOYED
        for field in importlib.import_module(f"{service}.settings").Settings.model_fields
    }
    known.add("OTEL_RESOURCE_ATTRIBUTES")  # read by OpenTelemetry itself
    for name in NAMES:
        settings = set(Cluster(name, overlay(name)).settings)
        assert settings - known == {
            "BROKER_ADDRESS",
            "BROKER_OPTIONS",
            "BROKER_SCHEME",
            "PUBLISHER_PUBLIC_URL",
            "SOCIAL_PUBLIC_URL",
        }


def test_secrets_are_made_by_the_names_the_manifests_use() -> None:
    printed = subprocess.run(
        [HOME / "secrets.sh", "--print", "somewhere"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    secrets = list(yaml.safe_load_all(printed))
    assert list(schemas.problems(secrets)) == []
    assert {
        each["metadata"]["name"]: frozenset(each["stringData"]) for each in secrets
    } == credentials.SECRETS
    passwords = [
        value
        for each in secrets
        for key, value in each["stringData"].items()
        if key in {"password", "service-key"}
    ]
    assert len(set(passwords)) == len(passwords)
    # They stand in URLs, and KEDA takes no others.
    assert all(re.fullmatch(r"[0-9a-f]{48}", password) for password in passwords)
    by_name = {each["metadata"]["name"]: each for each in secrets}
    keda = by_name["keda-broker"]["stringData"]
    assert keda["host"] == f"http://keda:{keda['password']}@rabbitmq.somewhere.svc:15672/"
    assert keda["host-tls"] == f"https://keda:{keda['password']}@rabbitmq.somewhere.svc:15671/"
    for service in SERVICES:
        assert by_name[f"{service}-broker"]["stringData"]["username"] == service
        assert by_name[f"{service}-broker"]["metadata"]["labels"]["rabbitmq.com/topology-operator"] == "true"
    for service in DEPLOYED:
        assert by_name[f"{service}-database"]["stringData"]["username"] == service
        assert by_name[f"{service}-runtime"]["stringData"]["username"] == f"{service}_runtime"


def test_the_cluster_and_the_gateway_hold_the_same_addresses_for_public(overlay) -> None:
    """What one of them would let out by mistake, the other does not."""
    policy = Cluster("prod", overlay("prod")).find("NetworkPolicy", "gateway")
    assert policy is not None
    rule, _ = policy["spec"]["egress"]
    left_out = {
        ip_network(network) for peer in rule["to"] for network in (peer["ipBlock"].get("except") or [])
    }
    for network in left_out:
        for address in (network[0], network[-1]):
            assert addresses.purpose(address) is not None, network
    refused = {*addresses.V4, *(each for each in addresses.V6 if each.subnet_of(addresses.PUBLIC_V6))}
    assert {each for each in refused if not any(is_within(each, other) for other in left_out)} == set()
    assert {peer["ipBlock"]["cidr"] for peer in rule["to"]} == {"0.0.0.0/0", str(addresses.PUBLIC_V6)}


def is_within(one: Any, other: Any) -> bool:
    return one.version == other.version and one.subnet_of(other)


def test_the_sample_documents_are_all_there(overlay) -> None:
    corpus = Cluster("dev", overlay("dev")).find("ConfigMap", "corpus")
    assert corpus is not None
    assert corpus["data"] == {
        path.name: path.read_text() for path in (ROOT / "deploy" / "demo" / "corpus").iterdir()
    }


def test_bindings_of_the_same_pair_have_names_of_their_own() -> None:
    keys = ["a.b", "a-b", "a.*", "a.#", "#", "", "A.B"]
    names = [generation.name_of_binding(Binding("events", "queue", key)) for key in keys]
    assert len(set(names)) == len(keys)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name) for name in names)
    assert names[0].startswith("events-to-queue-by-a-b-")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A copy of all manifests, to break."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "deploy" / "kubernetes"


def validate(kubectl: Path, *overlays: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HOME / "validate", *overlays],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"KUBECTL": str(kubectl)},
    )


@pytest.mark.extended
def test_the_command_accepts_what_is_there(kubectl: Path) -> None:
    result = validate(kubectl)
    assert result.returncode == 0, result.stderr
    assert re.search(
        r"^dev: \d+ resources are valid for Kubernetes .* and keep \d+ rules$", result.stdout, re.MULTILINE
    )
    assert re.search(r"^prod: \d+ resources are valid", result.stdout, re.MULTILINE)
    assert re.search(r"^alertmanager: \d+ resources are valid", result.stdout, re.MULTILINE)


@pytest.mark.extended
def test_a_release_is_written_by_one_command(
    kubectl: Path, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images and names of Jobs; by digest, as the registry tells it."""
    monkeypatch.setenv("KUBECTL", str(kubectl))
    program = tmp_path / "docker"
    program.write_text('#!/bin/sh\necho "sha256:$(printf %s "$6" | sha256sum | cut -d " " -f 1)"\n')
    program.chmod(0o755)
    subprocess.run(
        [elsewhere / "release.sh", "prod", "0.2.0-rc.1", "--digests"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=True,
        timeout=60,
    )
    result = validate(kubectl, elsewhere / "overlays" / "prod")
    assert result.returncode == 0, result.stderr
    resources = render(elsewhere / "overlays" / "prod")
    jobs = {each["metadata"]["name"] for each in resources if each["kind"] == "Job"}
    assert jobs == {f"migrate-{service}-0-2-0-rc-1" for service in DEPLOYED}
    image = cluster_container(Cluster("prod", resources), "social")["image"]
    expected = hashlib.sha256(b"registry.example.com/brand-engine/social:0.2.0-rc.1").hexdigest()
    assert image == f"registry.example.com/brand-engine/social:0.2.0-rc.1@sha256:{expected}"


def test_a_release_without_a_digest_leaves_things_as_they_are(elsewhere: Path, tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho denied >&2\nexit 1\n")
    program.chmod(0o755)
    file = elsewhere / "overlays" / "prod" / "release" / "kustomization.yaml"
    before = file.read_text()
    result = subprocess.run(
        [elsewhere / "release.sh", "prod", "0.2.0", "--digests"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=False,
        timeout=60,
    )
    assert result.returncode != 0
    assert file.read_text() == before


@pytest.mark.extended
@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("base/services/research.yaml", "limits: {cpu", "limit: {cpu", "('limit' was unexpected)"),
        ("base/services/research.yaml", "    spec:", "    spek:", "('spek' was unexpected)"),
        (
            "components/autoscaling/scaled-objects.yaml",
            "QueueLength",
            "Queuelength",
            "'Queuelength' is not one of",
        ),
        ("base/every-service.yaml", "path: /health/live", "path: /health/ready", "must ask /health/live"),
    ],
)
def test_what_is_broken_is_refused(
    kubectl: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    old: str,
    new: str,
    complaint: str,
) -> None:
    """By what the command runs, in this process, which has read the schemas."""
    replace(elsewhere / file, old, new)
    monkeypatch.setenv("KUBECTL", str(kubectl))
    monkeypatch.setattr(sys, "argv", ["manifests", "validate", str(elsewhere / "overlays" / "prod")])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("manifests", run_name="__main__")
    assert ended.value.code == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.extended
def test_the_command_refuses_what_cannot_be_rendered(kubectl: Path, elsewhere: Path) -> None:
    replace(elsewhere / "base" / "kustomization.yaml", "network.yaml", "networks.yaml")
    result = validate(kubectl, elsewhere / "overlays" / "prod")
    assert result.returncode == 1
    assert "cannot be rendered" in result.stderr


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
