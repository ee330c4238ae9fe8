"""A manifest that its API would not take is noticed before any cluster sees it."""

import pytest

from manifests import schemas
from tests.fixtures.kubernetes.breaking import (
    BOUND,
    Mutation,
    added,
    container,
    find,
    spec,
)


@pytest.mark.parametrize(
    ("mutate", "complaint"),
    [
        (spec("Deployment", "social", lambda it: it.update(replica=1)), "Deployment/social"),
        (container("social", lambda it: it.update(livenessprobe={})), "Deployment/social"),
        (spec("Service", "social", lambda it: it["ports"][0].update(port="8013")), "Service/social"),
        (
            spec("RabbitmqCluster", "rabbitmq", lambda it: it.update(replicas="3")),
            "'3' is not of type 'integer'",
        ),
        (
            spec("Queue", "orchestrator-events", lambda it: it.update(deletionpolicy="retain")),
            "deletionpolicy",
        ),
        (spec("Queue", "orchestrator-events", lambda it: it["arguments"].update(limit=3)), "limit"),
        (spec("Exchange", "commands", lambda it: it.update(type="topics")), "Exchange/commands"),
        (
            spec("Binding", f"commands-to-{BOUND}", lambda it: it.pop("routingKey")),
            "routingKey",
        ),
        (spec("User", "social", lambda it: it.update(tags=["root"])), "User/social"),
        (
            spec("Permission", "social", lambda it: it["permissions"].update(write="events")),
            "Permission/social",
        ),
        (
            spec("TopicPermission", "social-commands", lambda it: it["permissions"].pop("read")),
            "'read' is a required",
        ),
        (spec("Cluster", "postgres", lambda it: it.update(instance=3)), "'instance' was unexpected"),
        (spec("Database", "social", lambda it: it.pop("owner")), "'owner' is a required property"),
        (
            spec("ScaledObject", "social", lambda it: it["triggers"][0].update(type="rabbit")),
            "ScaledObject/social",
        ),
        (
            spec("ScaledObject", "social", lambda it: it["triggers"][0]["metadata"].update(value=5)),
            "5 is not of type",
        ),
        (spec("TriggerAuthentication", "keda-broker", lambda it: it.clear()), "secretTargetRef"),
        (
            spec("ServiceMonitor", "services", lambda it: it["endpoints"][0].update(interval="15")),
            "'15' does not match",
        ),
        (
            spec("PrometheusRule", "brand-engine", lambda it: it["groups"][0]["rules"][0].pop("expr")),
            "'expr'",
        ),
        (added("Gadget", "a", "example.com/v1", {}), "there is no schema of example.com/v1 Gadget"),
        (lambda all_: all_.append({"kind": "Service"}), "without apiVersion, kind or name"),
    ],
)
def test_a_schema_notices_what_its_api_would_not_take(overlay, mutate: Mutation, complaint: str) -> None:
    resources, before = overlay("prod"), overlay("prod")
    mutate(resources)
    (changed,) = [each for each in resources if each not in before]
    found = list(schemas.problems([changed]))
    assert any(complaint in problem for problem in found), found


def test_a_resource_may_be_there_but_once(overlay) -> None:
    service = find(overlay("prod"), "Service", "social")
    assert list(schemas.problems([service, service])) == ["Service/social: is there twice"]
