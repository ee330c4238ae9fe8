"""Work goes on through restarts, roll-outs and drained nodes, and replicas follow the queues."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from envelope.brand import CATALOGUE
from manifests.cluster import WITHOUT_MESSAGES, Cluster, Workload, environment, identity, selects
from messaging.topology import permissions

LIVE: Final = "/health/live"
READY: Final = "/health/ready"

_AFTER_THE_GRACE_SECONDS: Final = 15
"""After work in hand has ended: the outbox, open answers and connections have five seconds each."""
_CONNECTIONS_OF_OTHERS: Final = 20
"""Migrations, operators, backups, whoever measures."""
_USABLE_CONNECTIONS: Final = 0.9
"""Of the limit. Connections of pods that were killed are there until their server notices, beside those of the new pods."""
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_LONG_RUNNING: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_NODES: Final = 3


def probes_are_there(cluster: Cluster) -> Iterator[str]:
    for workload in _long_running(cluster):
        for container in workload.main_containers:
            for probe in _PROBES:
                if probe not in container:
                    yield f"{workload}, {container['name']}: {probe} is missing"
    for workload in cluster.services:
        for container in workload.main_containers:
            path = container.get("readinessProbe", {}).get("httpGet", {}).get("path")
            if path != READY:
                yield f"{workload}, {container['name']}: readinessProbe must ask {READY}"


def liveness_never_asks_the_broker(cluster: Cluster) -> Iterator[str]:
    """A service that waits for its broker or database is alive: a restart does not help."""
    for workload in cluster.services:
        for container in workload.main_containers:
            for probe in ("livenessProbe", "startupProbe"):
                asked = container.get(probe, {}).keys() & {"httpGet", "exec", "tcpSocket", "grpc"}
                if asked != {"httpGet"} or container[probe]["httpGet"].get("path") != LIVE:
                    yield f"{workload}, {container['name']}: {probe} must ask {LIVE} and nothing else"


def there_is_time_to_finish(cluster: Cluster) -> Iterator[str]:
    common = cluster.settings.get("SHUTDOWN_GRACE_SECONDS", "20")
    for workload in cluster.services:
        for container in workload.main_containers:
            pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
            grace = float(environment(container).get("SHUTDOWN_GRACE_SECONDS", common))
            needed = pause + grace + _AFTER_THE_GRACE_SECONDS
            given = workload.pod.get("terminationGracePeriodSeconds", 30)
            if given < needed:
                yield f"{workload}: terminationGracePeriodSeconds is {given}, and {needed:g} are needed"


def one_pod_at_a_time_may_be_away(cluster: Cluster) -> Iterator[str]:
    budgets = [(identity(each), each["spec"]) for each in cluster.of_kind("PodDisruptionBudget")]
    wanted = {str(workload): workload.labels for workload in _long_running(cluster)}
    wanted |= {name: labels for name, labels in cluster.pods.items() if name.startswith("RabbitmqCluster/")}
    for name, labels in wanted.items():
        matching = [spec for _, spec in budgets if selects(spec.get("selector"), labels)]
        if len(matching) != 1:
            yield f"{name}: needs one PodDisruptionBudget, and has {len(matching)}"
    for name, spec in budgets:
        if spec.get("maxUnavailable") != 1 or "minAvailable" in spec:
            yield f"{name}: maxUnavailable must be 1"


def every_consumer_is_scaled_by_its_queues(cluster: Cluster) -> Iterator[str]:
    consumed = {name: each.queues for name, each in permissions.describe(CATALOGUE).items()}
    consumed |= dict.fromkeys(WITHOUT_MESSAGES, ())
    scaled = list(cluster.of_kind("ScaledObject"))
    services = {workload.name for workload in cluster.services}
    if services != consumed.keys():
        yield f"there are {sorted(services)}, and there should be {sorted(consumed)}"
    for service, queues in consumed.items():
        of_this = [each for each in scaled if each["spec"]["scaleTargetRef"]["name"] == service]
        if len(of_this) != 1:
            yield f"{service}: needs one ScaledObject, and has {len(of_this)}"
            continue
        yield from (f"{service}: {what}" for what in _of_scaled_object(of_this[0]["spec"], queues))


def _of_scaled_object(spec: Mapping[str, Any], queues: tuple[str, ...]) -> Iterator[str]:
    if spec["scaleTargetRef"].get("kind", "Deployment") != "Deployment":
        yield "its ScaledObject must scale the Deployment"
    if spec.get("minReplicaCount", 0) < 1:
        yield "must never be scaled to zero: what is due later leaves by a running process"
    if spec.get("maxReplicaCount", 100) < spec.get("minReplicaCount", 0):
        yield "maxReplicaCount is below minReplicaCount"
    triggers = [each["metadata"] for each in spec.get("triggers", []) if each["type"] == "rabbitmq"]
    if not any(each["type"] == "cpu" for each in spec.get("triggers", [])):
        yield "is not scaled by CPU: requests over HTTP wait in no queue"
    watched = sorted(each.get("queueName", "") for each in triggers)
    if watched != sorted(queues):
        yield f"is scaled by {watched}, and consumes {sorted(queues)}"
    for trigger in triggers:
        if trigger.get("mode") != "QueueLength" or trigger.get("protocol") != "http":
            yield f"{trigger.get('queueName')}: only QueueLength over http counts what is in hand"


def nothing_else_sets_the_number_of_replicas(cluster: Cluster) -> Iterator[str]:
    for resource in cluster.of_kind("HorizontalPodAutoscaler"):
        yield f"{identity(resource)}: KEDA makes one for each ScaledObject; two would fight"
    targets = {each["spec"]["scaleTargetRef"]["name"] for each in cluster.of_kind("ScaledObject")}
    for workload in cluster.workloads:
        if (
            workload.kind == "Deployment"
            and workload.name in targets
            and "replicas" in workload.resource["spec"]
        ):
            yield f"{workload}: spec.replicas would undo the autoscaler's number with every apply"


def the_database_has_connections_for_all_replicas(cluster: Cluster) -> Iterator[str]:
    per_replica = int(cluster.settings.get("DATABASE_CONNECTIONS", "10"))
    # One more of each service during a roll-out.
    replicas = sum(each["spec"].get("maxReplicaCount", 100) + 1 for each in cluster.of_kind("ScaledObject"))
    wanted_by_all = replicas * per_replica + _CONNECTIONS_OF_OTHERS
    for name, limit in _connection_limits(cluster):
        if wanted_by_all > limit * _USABLE_CONNECTIONS:
            yield (
                f"{name}: {limit} connections for {replicas} replicas with {per_replica} each and {_CONNECTIONS_OF_OTHERS} for"
                f" others; a tenth must stay free, so {math.ceil(wanted_by_all / _USABLE_CONNECTIONS)} are needed"
            )
    limits = _connection_limits_of_roles(cluster)
    for scaled in cluster.of_kind("ScaledObject"):
        service, most = scaled["spec"]["scaleTargetRef"]["name"], scaled["spec"].get("maxReplicaCount", 100)
        wanted, limit = (most + 1) * per_replica, limits.get(f"{service}_runtime", -1)
        if limits and limit < wanted:
            yield f"{service}: its role may have {limit} connections, and its replicas want {wanted}"


def _connection_limits_of_roles(cluster: Cluster) -> dict[str, int]:
    """Role → most connections, -1 for any number, where an operator makes the roles."""
    return {
        role["name"]: role.get("connectionLimit", -1)
        for resource in cluster.of_kind("Cluster")
        for role in resource["spec"].get("managed", {}).get("roles", [])
    }


def _connection_limits(cluster: Cluster) -> Iterator[tuple[str, int]]:
    for resource in cluster.of_kind("Cluster"):
        parameters = resource["spec"].get("postgresql", {}).get("parameters", {})
        yield identity(resource), int(parameters.get("max_connections", "100"))
    for workload in cluster.workloads:
        for container in workload.main_containers:
            if container["image"].partition(":")[0] == "postgres":
                given = [
                    arg.partition("=")[2] for arg in container.get("args", []) if "max_connections" in arg
                ]
                yield str(workload), int(given[0] if given else "100")


def nothing_durable_stands_on_one_machine(cluster: Cluster) -> Iterator[str]:
    """Where operators run broker and database. The plain stateful sets are for development, and promise nothing."""
    for resource in cluster.of_kind("RabbitmqCluster"):
        nodes = resource["spec"].get("replicas", 1)
        if nodes < _NODES or nodes % 2 == 0:
            yield f"{identity(resource)}: {nodes} nodes; quorum queues need an odd number, three at least"
    for resource in cluster.of_kind("Cluster"):
        if resource["spec"].get("instances", 1) < _NODES:
            yield f"{identity(resource)}: needs {_NODES} instances"
        if "synchronous" not in resource["spec"].get("postgresql", {}):
            yield f"{identity(resource)}: a commit must be on two servers before it counts"
    for resource in cluster.of_kind("Queue"):
        if resource["spec"].get("deletionPolicy") != "retain":
            yield f"{identity(resource)}: deletionPolicy must be retain, or the queue goes with its messages"


def _long_running(cluster: Cluster) -> Iterator[Workload]:
    return (workload for workload in cluster.workloads if workload.kind in _LONG_RUNNING)
