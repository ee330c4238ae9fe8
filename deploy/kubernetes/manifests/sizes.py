"""Three sizes of an installation. M is what base and components say; S and L are patches of it, made here.

The chart takes its figures from the same patches (`manifests/chart`).
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import yaml

from envelope.brand import REGISTRY
from manifests.rendering import HOME

_OTHERS: Final = 20
"""Connections of migrations, operators and backups."""
_USABLE: Final = 0.9
"""As in `availability`: a tenth stays free for connections whose pods were killed."""

Resources = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Size:
    """How many replicas there may be, and what pods and servers ask for of their nodes."""

    fewest_replicas: int
    most_replicas: Mapping[str, int]
    """Service → replicas."""
    connections: int
    """To the database, of each replica."""
    service: Resources
    """Of each pod of a service, where it differs from M."""
    broker: Resources
    broker_storage: str
    database: Resources
    database_storage: str
    log_storage: str
    shared_buffers: str

    @property
    def database_connections(self) -> int:
        """That the server allows: for all replicas and one more of each during a roll-out, rounded up to hundreds."""
        replicas = sum(most + 1 for most in self.most_replicas.values())
        return math.ceil((replicas * self.connections + _OTHERS) / _USABLE / 100) * 100

    def connections_of(self, service: str) -> int:
        """That a role of this service may have."""
        return (self.most_replicas[service] + 1) * self.connections


def _resources(requests: tuple[str, str], limits: tuple[str, str]) -> Resources:
    return {
        "requests": {"cpu": requests[0], "memory": requests[1]},
        "limits": {"cpu": limits[0], "memory": limits[1]},
    }


def _same(cpu: str, memory: str) -> Resources:
    """Alike, so that a node in need takes from others first."""
    return _resources((cpu, memory), (cpu, memory))


SIZES: Final[Mapping[str, Size]] = MappingProxyType(
    {
        "S": Size(
            fewest_replicas=1,
            most_replicas={entry.name: 2 for entry in REGISTRY},
            connections=5,
            service={"requests": {"cpu": "50m", "memory": "96Mi"}},
            broker=_same("1", "1Gi"),
            broker_storage="10Gi",
            database=_same("1", "1Gi"),
            database_storage="10Gi",
            log_storage="5Gi",
            shared_buffers="256MB",
        ),
        "L": Size(
            fewest_replicas=3,
            most_replicas={entry.name: 2 * entry.most_replicas for entry in REGISTRY},
            connections=10,
            service=_resources(("250m", "256Mi"), ("1", "768Mi")),
            broker=_same("4", "4Gi"),
            broker_storage="50Gi",
            database=_same("4", "8Gi"),
            database_storage="100Gi",
            log_storage="20Gi",
            shared_buffers="2GB",
        ),
    }
)


def component(size: Size) -> dict[str, Any]:
    """The kustomize component that makes an overlay of this size. After database, broker and autoscaling."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "configMapGenerator": [
            {
                "name": "settings",
                "behavior": "merge",
                "literals": [f"DATABASE_CONNECTIONS={size.connections}"],
            }
        ],
        "patches": [*_of_services(size), *_of_servers(size)],
    }


def _of_services(size: Size) -> Iterator[dict[str, Any]]:
    for service, most in size.most_replicas.items():
        yield _patch(
            "ScaledObject",
            service,
            {"/spec/minReplicaCount": size.fewest_replicas, "/spec/maxReplicaCount": most},
        )
        container = "/spec/template/spec/containers/0"
        resources = {f"{container}/resources/{key}": value for key, value in size.service.items()}
        yield _patch("Deployment", service, resources)


def _of_servers(size: Size) -> Iterator[dict[str, Any]]:
    cluster = yaml.safe_load((HOME / "components/database-operator/cluster.yaml").read_text())
    limits = {
        f"/spec/managed/roles/{index}/connectionLimit": size.connections_of(
            role["name"].removesuffix("_runtime")
        )
        for index, role in enumerate(cluster["spec"]["managed"]["roles"])
    }
    yield _patch(
        "Cluster",
        "postgres",
        {
            "/spec/resources": size.database,
            "/spec/storage/size": size.database_storage,
            "/spec/walStorage/size": size.log_storage,
            "/spec/postgresql/parameters/max_connections": str(size.database_connections),
            "/spec/postgresql/parameters/shared_buffers": size.shared_buffers,
        }
        | limits,
    )
    yield _patch(
        "StatefulSet",
        "postgres",
        {"/spec/template/spec/containers/0/args/1": f"max_connections={size.database_connections}"},
    )
    yield _patch(
        "RabbitmqCluster",
        "rabbitmq",
        {"/spec/resources": size.broker, "/spec/persistence/storage": size.broker_storage},
    )


def _patch(kind: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    operations = [{"op": "replace", "path": path, "value": value} for path, value in values.items()]
    return {"target": {"kind": kind, "name": name}, "patch": json.dumps(operations)}
