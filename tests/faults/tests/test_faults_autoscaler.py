"""The controller of tests decides as the autoscaler of Kubernetes documents it."""

from pathlib import Path

import pytest

from faults.playing.autoscaler import Autoscaler, ScalingRules, Trigger
from faults.playing.scaled import from_one

RULES = ScalingRules(
    fewest=1, most=10, stabilisation_seconds=300, triggers=(Trigger("queue", 100), Trigger("cpu", 0.6))
)


def decide(autoscaler: Autoscaler, now: float, replicas: int, queue: float, cpu: float = 0.0) -> int:
    return autoscaler.decide(now, replicas, {"queue": queue, "cpu": cpu})


def test_the_rules_are_those_of_the_manifest() -> None:
    rules = ScalingRules.of_service("research")
    assert rules == ScalingRules(
        fewest=2,
        most=10,
        stabilisation_seconds=300,
        triggers=(Trigger("research-commands", 100), Trigger("cpu", 0.6)),
    )
    assert from_one(rules).fewest == 1


def test_every_service_of_the_manifest_can_be_followed() -> None:
    for service in ("orchestrator", "publisher", "social", "monitor", "events", "gateway", "console"):
        assert ScalingRules.of_service(service).triggers


def test_a_service_without_a_scaled_object_and_a_trigger_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="nobody"):
        ScalingRules.of_service("nobody")
    manifest = tmp_path / "scaled-objects.yaml"
    manifest.write_text(
        "metadata: {name: a}\n"
        "spec: {minReplicaCount: 1, maxReplicaCount: 2, triggers: [{type: cron}],\n"
        "  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 1}}}}}\n"
    )
    with pytest.raises(ValueError, match="cron"):
        ScalingRules.of_service("a", manifest)


def test_up_by_four_or_to_the_double_within_fifteen_seconds() -> None:
    autoscaler = Autoscaler(RULES)
    assert decide(autoscaler, 0, 1, 50_000) == 5
    assert decide(autoscaler, 10, 5, 50_000) == 5
    assert decide(autoscaler, 15, 5, 50_000) == 10
    assert decide(autoscaler, 30, 10, 50_000) == 10


def test_as_many_as_the_greatest_trigger_wants() -> None:
    assert decide(Autoscaler(RULES), 0, 1, 250) == 3
    assert decide(Autoscaler(RULES), 0, 1, 250, cpu=2.3) == 4


@pytest.mark.parametrize(("queue", "wanted"), [(329, 3), (331, 4), (270, 3), (200, 3)])
def test_a_tenth_more_or_less_changes_nothing(queue: int, wanted: int) -> None:
    autoscaler = Autoscaler(RULES)
    assert decide(autoscaler, 0, 3, 300) == 3
    assert decide(autoscaler, 15, 3, queue) == wanted


def test_down_only_to_the_greatest_wish_of_the_window() -> None:
    autoscaler = Autoscaler(RULES)
    assert decide(autoscaler, 0, 10, 50_000) == 10
    assert decide(autoscaler, 15, 10, 400) == 10
    assert decide(autoscaler, 290, 10, 0) == 10
    assert decide(autoscaler, 301, 10, 0) == 4
    assert decide(autoscaler, 316, 4, 0) == 1


def test_never_below_the_fewest_and_never_above_the_most() -> None:
    assert decide(Autoscaler(RULES), 0, 1, 0) == 1
    assert decide(Autoscaler(RULES), 0, 8, 50_000) == 10
