"""A ScaledObject followed as KEDA and the Kubernetes autoscaler document it, for processes of this machine.

KEDA makes one autoscaler of all triggers and hands it their figures; between one replica and more, only the autoscaler
decides (https://keda.sh/docs/latest/reference/scaledobject-spec/, and
https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/): `ceil(figure / target)`, the
greatest of all triggers; nothing changes within a tolerance of a tenth; up by 4 replicas or to the double within 15
seconds; down to the greatest wish of the stabilisation window. `pollingInterval` and `cooldownPeriod` concern zero
replicas, which no service of ours has.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import yaml

MANIFEST: Final = (
    Path(__file__).parents[5] / "deploy" / "kubernetes" / "components" / "autoscaling" / "scaled-objects.yaml"
)
SYNC_SECONDS: Final = 15.0
"""Between two decisions of the autoscaler."""
_TOLERANCE: Final = 0.1
_UP_AT_ONCE: Final = 4
_UP_TIMES: Final = 2
_UP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Trigger:
    """One figure to scale by."""

    name: str
    """The queue, or `cpu`."""
    target: float
    """For each replica: messages that wait or are in hand, or cores."""


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """What a ScaledObject says, in its own seconds."""

    fewest: int
    most: int
    stabilisation_seconds: float
    triggers: tuple[Trigger, ...]

    @classmethod
    def of_service(cls, service: str, manifest: Path = MANIFEST) -> Self:
        """As the manifest of the component `autoscaling` has it.

        Raises:
            LookupError: the manifest has no ScaledObject of this service.
            ValueError: it has a trigger that this controller does not follow.
        """
        for resource in yaml.safe_load_all(manifest.read_text()):
            if resource["metadata"]["name"] == service:
                return cls._read(resource["spec"])
        raise LookupError(f"{manifest.name} has no ScaledObject of {service!r}")

    @classmethod
    def _read(cls, spec: Mapping[str, Any]) -> Self:
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        return cls(
            fewest=spec["minReplicaCount"],
            most=spec["maxReplicaCount"],
            stabilisation_seconds=float(down["stabilizationWindowSeconds"]),
            triggers=tuple(map(_trigger, spec["triggers"])),
        )


def _trigger(trigger: Mapping[str, Any]) -> Trigger:
    match trigger:
        case {
            "type": "rabbitmq",
            "metadata": {"protocol": "http", "mode": "QueueLength", "queueName": queue, "value": value},
        }:
            return Trigger(queue, float(value))
        case {"type": "cpu", "metricType": "AverageValue", "metadata": {"value": value}}:
            return Trigger("cpu", int(value.removesuffix("m")) / 1000)
        case _:
            raise ValueError(f"this controller does not follow the trigger {trigger}")


@dataclass
class Autoscaler:
    """Decides how many replicas there are to be, from figures and the time. It starts and stops nothing."""

    rules: ScalingRules
    _wishes: list[tuple[float, int]] = field(default_factory=list)
    """When, and how many."""
    _added: list[tuple[float, int]] = field(default_factory=list)

    def decide(self, now: float, replicas: int, figures: Mapping[str, float]) -> int:
        """The number of replicas from now on.

        Args:
            now: seconds of any clock that only goes forward.
            replicas: those that there are.
            figures: by the names of triggers; each must be there.
        """
        wish = max(self._of_trigger(each, replicas, figures[each.name]) for each in self.rules.triggers)
        wish = min(max(wish, self.rules.fewest), self.rules.most)
        self._wishes = [*_since(self._wishes, now - self.rules.stabilisation_seconds), (now, wish)]
        if wish > replicas:
            self._added = _since(self._added, now - _UP_SECONDS)
            before = replicas - sum(count for _, count in self._added)
            wanted = max(min(wish, max(before + _UP_AT_ONCE, before * _UP_TIMES)), replicas)
            self._added.append((now, wanted - replicas))
            return wanted
        return min(replicas, max(count for _, count in self._wishes))

    def _of_trigger(self, trigger: Trigger, replicas: int, figure: float) -> int:
        if abs(figure / (trigger.target * replicas) - 1.0) <= _TOLERANCE:
            return replicas
        return math.ceil(figure / trigger.target)


def _since(entries: Sequence[tuple[float, int]], start: float) -> list[tuple[float, int]]:
    return [(at, count) for at, count in entries if at > start]
