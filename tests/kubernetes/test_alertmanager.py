"""Alertmanager's egress on Kubernetes: only to the receivers that the operator names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manifests import alerting, policies, schemas
from manifests.cluster import Cluster
from manifests.rendering import ALERTMANAGER

Resources = list[dict[str, Any]]
Mutation = Callable[[Resources], object]
MAIL = {"ipBlock": {"cidr": "203.0.113.25/32"}}


def named(resources: Resources, name: str) -> dict[str, Any]:
    return next(each for each in resources if each["metadata"]["name"] == name)


def receivers(change: Callable[[dict[str, Any]], object]) -> Mutation:
    """Changes the specification of the policy that leads to the receivers."""
    return lambda resources: change(named(resources, "alertmanager-to-receivers")["spec"])


def others(change: Callable[[dict[str, Any]], object]) -> Mutation:
    """Changes the specification of the policy that leads to names and replicas."""
    return lambda resources: change(named(resources, "alertmanager")["spec"])


def to(*peers: dict[str, Any], ports: list[dict[str, Any]] | None = None) -> Mutation:
    """One rule for receivers."""
    rule = {"to": list(peers), "ports": ports or [{"protocol": "TCP", "port": 443}]}
    return receivers(lambda spec: spec.update(egress=[rule]))


def cidr(block: str, *left_out: str) -> dict[str, Any]:
    return {"ipBlock": {"cidr": block, **({"except": list(left_out)} if left_out else {})}}


MUTATIONS: dict[str, list[tuple[str, Mutation]]] = {
    "namespace": [
        ("none", lambda resources: resources[0]["metadata"].pop("namespace")),
        ("two", lambda resources: resources[0]["metadata"].update(namespace="brand-engine")),
    ],
    "selectors": [
        ("all pods", receivers(lambda spec: spec.update(podSelector={}))),
        ("others", others(lambda spec: spec["podSelector"]["matchLabels"].update({"app.kubernetes.io/name": "prometheus"}))),
        ("nobody may come in", others(lambda spec: spec.update(policyTypes=["Ingress", "Egress"]))),
        ("nothing is closed", receivers(lambda spec: spec.update(policyTypes=[]))),
    ],
    "receivers": [
        ("everywhere", to(cidr("0.0.0.0/0"))),
        ("everywhere by IPv6", to(cidr("::/0"))),
        ("half of everywhere", to(cidr("0.0.0.0/1"), cidr("128.0.0.0/1"))),
        ("the whole web", to(cidr("0.0.0.0/0", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))),
        ("a wide network", to(cidr("10.0.0.0/8"))),
        ("none", receivers(lambda spec: spec.pop("egress"))),
        ("no rule", receivers(lambda spec: spec.update(egress=[]))),
        ("a rule without addresses", receivers(lambda spec: spec.update(egress=[{"ports": [{"port": 443}]}]))),
        ("every port", receivers(lambda spec: spec["egress"][0].pop("ports"))),
        ("every port of a protocol", to(MAIL, ports=[{"protocol": "TCP"}])),
        ("no policy", lambda resources: resources.remove(named(resources, "alertmanager-to-receivers"))),
        ("no label", lambda resources: named(resources, "alertmanager-to-receivers")["metadata"]["labels"].clear()),
    ],
    "reachability": [
        ("an address beside the receivers", others(lambda spec: spec["egress"][0]["to"].append(MAIL))),
        ("everybody", others(lambda spec: spec["egress"][0].pop("to"))),
        ("every namespace", to({"namespaceSelector": {}})),
        ("a whole namespace", to({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mail"}}})),
        ("its whole namespace", to({"podSelector": {}})),
        ("no names", others(lambda spec: spec["egress"].pop(0))),
        ("no replicas", others(lambda spec: spec["egress"].pop(1))),
        ("names by one protocol", others(lambda spec: spec["egress"][0]["ports"].pop())),
        ("all ports of replicas", others(lambda spec: spec["egress"][1].pop("ports"))),
        ("a range of ports", others(lambda spec: spec["egress"][1]["ports"][0].update(endPort=9100))),
        ("a port by name", others(lambda spec: spec["egress"][1]["ports"][0].update(port="mesh-tcp"))),
        ("the API server", others(lambda spec: spec["egress"][0]["ports"].append({"port": 6443}))),
    ],
    "order": [("in no wave", lambda resources: resources[0]["metadata"].pop("annotations"))],
    "part": [("of nothing", lambda resources: resources[0]["metadata"]["labels"].clear())],
}  # fmt: skip


@pytest.mark.extended
def test_the_overlay_keeps_its_rules_and_has_rules_of_its_own(overlay) -> None:
    resources = overlay("alertmanager")
    cluster = Cluster("alertmanager", resources)
    assert alerting.concerns_alertmanager_alone(cluster)
    assert policies.policies_for(cluster) == policies.OF_ALERTMANAGER
    assert list(schemas.problems(resources)) == []
    assert list(policies.problems(cluster)) == []


def test_an_overlay_with_services_keeps_all_rules(overlay) -> None:
    for name in ("dev", "prod"):
        assert policies.policies_for(Cluster(name, overlay(name))) == policies.POLICIES
    assert policies.policies_for(Cluster("empty", [])) == policies.POLICIES


@pytest.mark.parametrize(
    ("rule", "mutate"),
    [
        pytest.param(rule, mutate, id=f"{rule}-{title}")
        for rule, mutations in MUTATIONS.items()
        for title, mutate in mutations
    ],
)
def test_a_rule_notices_what_it_is_there_for(overlay, rule: str, mutate: Mutation) -> None:
    resources = overlay("alertmanager")
    mutate(resources)
    found = list(policies.OF_ALERTMANAGER[rule](Cluster("alertmanager", resources)))
    assert found, f"nothing was noticed by {rule}"


def test_every_rule_has_something_that_breaks_it() -> None:
    assert MUTATIONS.keys() == policies.OF_ALERTMANAGER.keys()


@pytest.mark.parametrize(
    "mutate",
    [
        to(cidr("198.51.100.0/24"), cidr("2001:db8::/48")),
        to(cidr("10.1.2.3/32"), ports=[{"protocol": "TCP", "port": 25}]),
        to(
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mail"}},
                "podSelector": {"matchLabels": {"app": "relay"}},
            },
            ports=[{"port": 587}],
        ),
    ],
)
def test_receivers_may_be_networks_inner_addresses_and_pods_of_others(overlay, mutate: Mutation) -> None:
    resources = overlay("alertmanager")
    mutate(resources)
    assert list(policies.problems(Cluster("alertmanager", resources))) == []


def test_the_operator_finds_the_addresses_in_the_overlay_itself() -> None:
    text = Path(ALERTMANAGER / "kustomization.yaml").read_text()
    assert "203.0.113.25/32" in text
    assert "leads-to=alert-receivers" in text
