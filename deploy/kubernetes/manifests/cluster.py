"""A rendered overlay, and queries on it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from envelope.brand import REGISTRY

Resource: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Mapping[str, str]

COMPONENT: Final = "app.kubernetes.io/component"
OWN_IMAGES: Final = "brand-engine/"
GATEWAY: Final = "gateway"
"""The only service with a way out."""
WITHOUT_MESSAGES: Final = tuple(entry.name for entry in REGISTRY if not entry.takes_messages)
"""Services that have no queue and no user at the broker."""
_WORKLOADS: Final = frozenset(
    {"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", "Pod"}
)


@dataclass(frozen=True, slots=True)
class Workload:
    """A resource that makes pods, and its pods."""

    resource: Resource
    labels: Labels
    pod: Mapping[str, Any]
    """The pod's specification."""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def kind(self) -> str:
        return str(self.resource["kind"])

    @property
    def name(self) -> str:
        """Without the release that the names of Jobs end in."""
        name = str(self.resource["metadata"]["name"])
        return name.removesuffix(f"-{self.release}") if self.kind == "Job" else name

    @property
    def release(self) -> str | None:
        """The version of our image that it runs, as it may stand in a name: `0-1-0`."""
        images = (str(container["image"]) for container in self.containers)
        found = next((version_of(image) for image in images if OWN_IMAGES in image), None)
        return found and re.sub(r"[^a-z0-9]+", "-", found.lower())

    @property
    def component(self) -> str | None:
        return self.labels.get(COMPONENT)

    @property
    def main_containers(self) -> list[Mapping[str, Any]]:
        return list(self.pod.get("containers", []))

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """Those that start first included."""
        return [*self.pod.get("initContainers", []), *self.main_containers]


@dataclass(frozen=True)
class Cluster:
    """All resources of an overlay, and those that operators make of them, if rules need them."""

    name: str
    resources: list[dict[str, Any]]

    def of_kind(self, kind: str) -> Iterator[Resource]:
        return (resource for resource in self.resources if resource["kind"] == kind)

    def find(self, kind: str, name: str) -> Resource | None:
        return next((each for each in self.of_kind(kind) if each["metadata"]["name"] == name), None)

    @cached_property
    def workloads(self) -> list[Workload]:
        found = []
        for resource in self.resources:
            if resource["kind"] not in _WORKLOADS:
                continue
            template = _pod_template(resource)
            labels = template.get("metadata", {}).get("labels", {})
            found.append(Workload(resource, labels, template.get("spec", {})))
        return found

    @property
    def namespace(self) -> str:
        return next(str(each["metadata"]["name"]) for each in self.of_kind("Namespace"))

    @property
    def services(self) -> list[Workload]:
        """The services of ours, those without messages among them."""
        return [each for each in self.workloads if each.kind == "Deployment" and each.component == "service"]

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """What all services are configured with."""
        for resource in self.of_kind("ConfigMap"):
            # Its name ends in a digest, so that pods are renewed when it changes.
            if str(resource["metadata"]["name"]).startswith("settings"):
                data: Mapping[str, str] = resource.get("data", {})
                return data
        return {}

    @cached_property
    def pods(self) -> Mapping[str, Labels]:
        """Labels of every kind of pod that there will be, by the name of what makes it."""
        pods = {str(each): each.labels for each in self.workloads}
        for resource in self.of_kind("RabbitmqCluster"):
            name = resource["metadata"]["name"]
            pods[identity(resource)] = {
                "app.kubernetes.io/name": name,
                "app.kubernetes.io/component": "rabbitmq",
                "app.kubernetes.io/part-of": "rabbitmq",
            }
        for resource in self.of_kind("Cluster"):
            pods[identity(resource)] = {"cnpg.io/cluster": resource["metadata"]["name"]}
        return pods


def version_of(image: str) -> str:
    """`0.1.0` of `registry.example.com:5000/brand-engine/social:0.1.0@sha256:…`; empty if there is none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def identity(resource: Resource) -> str:
    return f"{resource['kind']}/{resource['metadata']['name']}"


def _pod_template(resource: Resource) -> Mapping[str, Any]:
    match resource["kind"]:
        case "Pod":
            return resource
        case "CronJob":
            return resource["spec"]["jobTemplate"]["spec"].get("template", {})  # type: ignore[no-any-return]
        case _:
            return resource["spec"].get("template", {})  # type: ignore[no-any-return]


def selects(selector: Mapping[str, Any] | None, labels: Labels) -> bool:
    """Whether a label selector matches; an empty one matches everything, none at all matches nothing.

    Raises:
        ValueError: an operator that does not exist.
    """
    if selector is None:
        return False
    wanted = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions", [])
    )


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case other:
            raise ValueError(f"unknown operator {other!r}")


def environment(container: Mapping[str, Any]) -> dict[str, Any]:
    """Name → literal value, or the mapping that says where it comes from; in order."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", [])}
