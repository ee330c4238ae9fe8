"""The chart makes what kustomize makes of the same choices, refuses senseless values, and is made from base and components."""

import copy
import os
import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from manifests import policies, schemas, sizes
from manifests.chart import building, checking
from manifests.chart.choices import DEFAULTS, DEV, OFF, ON, OPTIONS, Choice
from manifests.chart.comparing import differences
from manifests.chart.variants import MapNode, MergeError, Merger, merged_order
from manifests.cluster import Cluster
from manifests.rendering import CHART, HOME, RenderingError, render_chart

pytestmark = pytest.mark.extended

UNAVAILABLE = 69


@pytest.fixture(scope="module")
def helm(kubectl: Path) -> Path:
    """The pinned helm, installed if it is missing; kubectl is there, too."""
    if given := os.environ.get("HELM"):
        return Path(given)
    result = subprocess.run(
        [HOME / "install-helm.sh"], check=False, capture_output=True, text=True, timeout=300
    )
    if result.returncode == UNAVAILABLE:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.strip())


@pytest.fixture(autouse=True)
def programs(helm: Path, kubectl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELM", str(helm))
    monkeypatch.setenv("KUBECTL", str(kubectl))


def values_of(choice: Choice) -> dict[str, Any]:
    """The values of the chart that make a choice."""
    values: dict[str, Any] = {}
    for name, option in choice.items():
        taken: Any = {ON: True, OFF: False}.get(option, option)
        if name in {"certificates", "registry"}:
            # These are on if they have a name.
            taken = {"certificates": "letsencrypt", "registry": "registry"}[name] if taken else ""
        place = values
        *folders, last = OPTIONS[name].value.removeprefix(".Values.").split(".")
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = taken
    return values


def test_the_chart_as_it_is_makes_what_the_overlay_for_production_makes(overlay) -> None:
    assert list(differences(render_chart({}), overlay("prod"))) == []


def test_with_plain_servers_the_chart_makes_what_the_overlay_for_development_makes(overlay) -> None:
    figures = copy.deepcopy(yaml.safe_load((CHART / "values.yaml").read_text())["sizes"]["M"])
    for service in figures["services"].values():
        service |= {"minReplicas": 1, "maxReplicas": 2}
    ends = "brand-engine.localhost"
    ingress = {
        "sites": {"host": f"sites.{ends}", "feedsHost": f"feeds.{ends}"},
        "console": {"host": f"console.{ends}"},
        "api": {"host": f"api.{ends}"},
    }
    values = values_of(DEV)
    for name, hosts in ingress.items():
        values["ingress"][name] |= hosts
    values |= {"size": "dev", "sizes": {"dev": figures}}
    values["images"]["repository"] = "brand-engine"
    assert list(differences(render_chart(values, "brand-engine-dev"), overlay("dev"))) == []


@pytest.mark.parametrize("size", ["S", "M", "L"])
def test_every_size_is_valid_keeps_the_rules_and_is_that_of_its_component(size: str) -> None:
    resources = checking.rendered({"size": size})
    assert list(checking.problems(resources, size)) == []


def test_choices_that_nobody_sampled_are_made_as_kustomize_makes_them() -> None:
    chance = random.Random(20)
    choices = [{name: chance.choice(each.options) for name, each in OPTIONS.items()} for _ in range(12)]
    for choice, wanted in zip(choices, building.render_choices(choices), strict=True):
        assert list(differences(render_chart(values_of(choice)), wanted)) == [], choice


@pytest.mark.parametrize("servers", [("operator", "plain"), ("plain", "operator"), ("plain", "plain")])
def test_the_rules_hold_with_every_kind_of_server(servers: tuple[str, str]) -> None:
    broker, database = servers
    values = {"size": "S", "broker": {"kind": broker}, "database": {"kind": database}}
    resources = checking.rendered(values)
    assert list(schemas.problems(resources)) == []
    assert list(policies.problems(Cluster("chart", resources))) == []


def test_servers_that_are_there_already_are_named_by_their_addresses() -> None:
    values = {
        "broker": {"kind": "existing", "host": "mq.test", "port": 5672, "apiPort": 443, "addresses": ["10.1.0.1/32"]},
        "database": {"kind": "existing", "host": "db.test", "port": 6432, "addresses": ["10.2.0.1/32", "10.2.0.2/32"]},
    }  # fmt: skip
    resources = render_chart(values)
    assert list(schemas.problems(resources)) == []
    assert not {"RabbitmqCluster", "Cluster", "StatefulSet", "Queue"} & {each["kind"] for each in resources}
    found = {(each["kind"], each["metadata"]["name"]): each for each in resources}
    text = yaml.safe_dump_all(resources)
    assert "@mq.test:443" in text
    assert "mq.test:5672/%2F?cafile=" in text
    assert text.count("@db.test:6432/") == 2 * len(sizes.SIZES["L"].most_replicas)
    assert "example.com:5" not in text
    policy = found["NetworkPolicy", "services-to-postgres"]["spec"]["egress"][0]
    assert policy == {
        "to": [{"ipBlock": {"cidr": "10.2.0.1/32"}}, {"ipBlock": {"cidr": "10.2.0.2/32"}}],
        "ports": [{"protocol": "TCP", "port": 6432}],
    }


def test_the_chart_is_made_from_base_and_components() -> None:
    wanted = building.files()
    stale = [str(path) for path, content in wanted.items() if path.read_text() != content]
    assert [*stale, *building.left_over(wanted)] == [], "run: make schemas"


def test_an_update_migrates_before_it_changes_a_service_and_an_installation_beside() -> None:
    def hooks(values: Mapping[str, Any], *, upgrade: bool) -> dict[str, str | None]:
        return {
            each["metadata"]["name"]: each["metadata"]["annotations"].get("helm.sh/hook")
            for each in render_chart(values, upgrade=upgrade)
            if each["kind"] in {"Job", "Deployment", "ServiceAccount"}
        }

    installed, updated = hooks({}, upgrade=False), hooks({}, upgrade=True)
    assert set(installed.values()) == {None}
    jobs = {name for name in installed if name.startswith("migrate-")}
    assert len(jobs) == len(sizes.SIZES["L"].most_replicas)
    assert {name for name, hook in updated.items() if hook == "pre-upgrade"} == jobs
    # The one that brings a new service makes its database in the same step.
    assert set(hooks({"migrations": {"beforeUpgrade": False}}, upgrade=True).values()) == {None}


def test_what_holds_data_outlives_the_installation() -> None:
    kept = {
        each["kind"]
        for each in render_chart({"publishFolder": {"enabled": True}})
        if each["metadata"]["annotations"].get("helm.sh/resource-policy") == "keep"
    }
    assert kept == {
        "RabbitmqCluster", "Cluster", "Database", "PersistentVolumeClaim", "ObjectStore", "ConfigMap",
    }  # fmt: skip


def test_a_version_names_images_and_jobs() -> None:
    digest = f"sha256:{'0' * 64}"
    values = {
        "images": {
            "repository": "r.example/x/brand-engine",
            "tag": "1.2.0-RC_1",
            "digests": {"social": digest},
        }
    }
    resources = render_chart(values)
    images = {each["metadata"]["name"]: each for each in resources if each["kind"] == "Deployment"}

    def image(service: str) -> str:
        return str(images[service]["spec"]["template"]["spec"]["containers"][0]["image"])

    assert image("research") == "r.example/x/brand-engine/research:1.2.0-RC_1"
    assert image("social") == f"r.example/x/brand-engine/social:1.2.0-RC_1@{digest}"
    assert "migrate-social-1-2-0-rc-1" in {each["metadata"]["name"] for each in resources}


def test_settings_are_changed_added_and_renew_the_pods() -> None:
    def settings(values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        resources = render_chart(values)
        (found,) = (each for each in resources if each["kind"] == "ConfigMap")
        used = {
            each["spec"]["template"]["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]
            for each in resources
            if each["kind"] == "Deployment"
        }
        assert used == {found["metadata"]["name"]}
        return found["metadata"]["name"], found["data"]

    name, before = settings({})
    changed, after = settings({"settings": {"LOG_LEVEL": "debug", "TRUSTED_PROXIES": "10.0.0.0/8"}})
    assert after == before | {"LOG_LEVEL": "debug", "TRUSTED_PROXIES": "10.0.0.0/8"}
    assert name != changed


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"size": "XXL"}, "there is no size XXL: under `sizes` there are L, M, S"),
        ({"size": ""}, "/size"),
        ({"imagse": {}}, "'imagse' not allowed"),
        ({"broker": {"kind": "mine"}}, "must be one of 'operator', 'plain', 'existing'"),
        ({"database": {"host": "db.example.com:5432"}}, "/database/host"),
        ({"broker": {"port": 0}}, "/broker/port"),
        ({"images": {"repository": "somebody/else"}}, "/images/repository"),
        ({"images": {"tag": "a b"}}, "/images/tag"),
        ({"images": {"digests": {"social": "sha256:1"}}}, "/images/digests/social"),
        ({"images": {"digests": {"nobody": f"sha256:{'0' * 64}"}}}, "'nobody' not allowed"),
        ({"ingress": {"sites": {"host": "https://a.example"}}}, "/ingress/sites/host"),
        ({"ingress": {"sites": {"host": 'a.example" }}{{ fail'}}}, "/ingress/sites/host"),
        ({"network": {"apiServer": []}}, "/network/apiServer"),
        ({"network": {"apiServer": ["0.0.0.0/0"]}}, "/network/apiServer"),
        ({"settings": {"LOG_LEVEL": 3}}, "/settings/LOG_LEVEL"),
        ({"settings": {"not a name": "x"}}, "'not a name' does not match"),
        ({"sizes": {"M": {"services": {"social": {"maxReplicas": 0}}}}}, "minimum"),
        ({"sizes": {"M": {"services": {"social": {"maxReplicas": 1}}}}}, "maxReplicas is below minReplicas"),
        ({"sizes": {"M": {"services": {"social": {"maxReplicas": 40}}}}}, "database.connections is 600"),
        ({"sizes": {"M": {"services": {"nobody": {}}}}}, "'nobody' not allowed"),
        ({"password": "secret"}, "'password' not allowed"),
    ],
)
def test_senseless_values_are_refused(values: Mapping[str, Any], complaint: str) -> None:
    with pytest.raises(RenderingError, match=re.escape(complaint)):
        render_chart(values)


def test_the_notes_say_what_to_do_next(helm: Path) -> None:
    result = subprocess.run(
        [helm, "install", "b", CHART, "--dry-run=client", "--namespace", "here", "--set", "ingress.console.enabled=false"],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    notes = result.stdout.partition("NOTES:")[2]
    for wanted in ("secrets.sh here", "docker-registry registry", "generic backup-store", "port-forward"):
        assert wanted in notes


def test_variants_that_no_choice_tells_apart_are_refused() -> None:
    merger = Merger([DEFAULTS, DEFAULTS])
    with pytest.raises(MergeError, match="Job/a"):
        merger.merge({0: {"a": 1}, 1: {"b": 1}}, "Job/a")
    with pytest.raises(MergeError, match="different order"):
        merged_order([["a", "b"], ["b", "a"]], "here")
    assert isinstance(merger.merge({0: {"a": 1}, 1: {"a": 1}}, "Job/a"), MapNode)
