"""In which order resources come: the waves of Argo CD, which waits until all of one wave is healthy before the next.

What waits for something that comes later would hold up everything for good. An autoscaler is unhealthy until its
Deployment is there, a claim is until a pod mounts it, an Ingress until the controller has given it an address.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from manifests.cluster import COMPONENT, Cluster, Resource, identity

WAVE: Final = "argocd.argoproj.io/sync-wave"
PART: Final = "app.kubernetes.io/part-of"
OPTIONS: Final = "argocd.argoproj.io/sync-options"

_GROUND, _SERVERS, _TOPOLOGY, _MIGRATIONS, _SERVICES, _AROUND = -3, -2, -1, 1, 2, 3

WAVES: Final[Mapping[str, int]] = MappingProxyType(
    {
        # Depends on nothing, and the servers need some of it.
        "Namespace": _GROUND,
        "NetworkPolicy": _GROUND,
        "ServiceAccount": _GROUND,
        "ConfigMap": _GROUND,
        "Service": _GROUND,
        "PriorityClass": _GROUND,
        "Issuer": _GROUND,
        "Certificate": _GROUND,
        "ObjectStore": _GROUND,
        # Broker and database, by operators or plain; their claims are mounted at once.
        "RabbitmqCluster": _SERVERS,
        "Cluster": _SERVERS,
        "StatefulSet": _SERVERS,
        # What a server must be up for.
        "Exchange": _TOPOLOGY,
        "Queue": _TOPOLOGY,
        "Binding": _TOPOLOGY,
        "User": _TOPOLOGY,
        "Permission": _TOPOLOGY,
        "TopicPermission": _TOPOLOGY,
        "Database": _TOPOLOGY,
        # The databases are there, the new version of the services is not yet.
        "Job": _MIGRATIONS,
        # A claim that binds with its first consumer is pending until then, and a budget without pods is not met.
        "Deployment": _SERVICES,
        "PersistentVolumeClaim": _SERVICES,
        "PodDisruptionBudget": _SERVICES,
        # Looks at what is there.
        "TriggerAuthentication": _AROUND,
        "ScaledObject": _AROUND,
        "Ingress": _AROUND,
        "ServiceMonitor": _AROUND,
        "PodMonitor": _AROUND,
        "PrometheusRule": _AROUND,
        "ScheduledBackup": _AROUND,
    }
)
"""Kind → wave. The Job that declares the topology is the one exception: see `wave`."""

KEPT: Final = ("RabbitmqCluster", "Cluster", "Database", "PersistentVolumeClaim", "ObjectStore", "Namespace")
"""Kinds that hold data: never removed because a file is gone."""


def wave(resource: Resource) -> int | None:
    """Returns the wave of a resource; None for an unlisted kind."""
    labels = resource["metadata"].get("labels") or {}
    if resource["kind"] == "Job" and labels.get(COMPONENT) == "topology":
        return _TOPOLOGY
    return WAVES.get(resource["kind"])


def component() -> dict[str, Any]:
    """The kustomize component that gives every resource of an overlay its wave."""
    kinds: dict[int, list[str]] = {}
    for kind, number in WAVES.items():
        kinds.setdefault(number, []).append(kind)
    patches = [_annotate(_any_of(of_wave), WAVE, str(number)) for number, of_wave in sorted(kinds.items())]
    topology = {"kind": "^Job$", "labelSelector": f"{COMPONENT}=topology"}
    return {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [
            *patches,
            _annotate(topology, WAVE, str(_TOPOLOGY)),
            _annotate(_any_of(KEPT), OPTIONS, "Prune=false,Delete=false"),
        ],
    }


def _any_of(kinds: Iterable[str]) -> dict[str, str]:
    # kustomize takes a regular expression here.
    return {"kind": f"^({'|'.join(sorted(kinds))})$"}


def _annotate(target: Mapping[str, str], annotation: str, value: str) -> dict[str, Any]:
    metadata = {"name": "any", "annotations": {annotation: value}}
    patch = json.dumps({"apiVersion": "any", "kind": "any", "metadata": metadata})
    return {"target": dict(target), "patch": patch}


def apply_finds_everything(cluster: Cluster) -> Iterator[str]:
    """`apply.sh` selects by this label, what it applies as well as what it removes."""
    for resource in cluster.resources:
        if (resource["metadata"].get("labels") or {}).get(PART) != "brand-engine":
            yield f"{identity(resource)}: the label {PART} must be brand-engine"


def everything_comes_in_its_wave(cluster: Cluster) -> Iterator[str]:
    for resource in cluster.resources:
        wanted = wave(resource)
        annotations = resource["metadata"].get("annotations") or {}
        given = annotations.get(WAVE)
        if wanted is None:
            yield f"{identity(resource)}: say in manifests/order.py in which wave a {resource['kind']} comes"
        elif given != str(wanted):
            yield f"{identity(resource)}: is in wave {given or 'none'}, and belongs into {wanted}"
        if resource["kind"] in KEPT and "Prune=false" not in annotations.get(OPTIONS, ""):
            yield f"{identity(resource)}: {OPTIONS} must say Prune=false: it holds data"
