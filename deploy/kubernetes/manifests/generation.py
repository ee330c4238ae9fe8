"""Generates manifests from the code, so that topology, permissions and alerts are written once."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from envelope.brand import CATALOGUE, REGISTRY
from manifests import existing, order, sizes
from manifests.cluster import WITHOUT_MESSAGES
from manifests.rendering import HOME
from messaging import topology
from messaging.topology import Binding, permissions
from messaging.topology.permissions import NOTHING, Permissions

Document = dict[str, Any]

ALERTS: Final = HOME.parent / "observability" / "prometheus" / "alerts.yml"

_BROKER: Final = {"rabbitmqClusterReference": {"name": "rabbitmq"}}
_VHOST: Final = {"vhost": "/"}

MESSAGES_PER_REPLICA: Final[Mapping[str, int]] = {
    # Routing is quick: a replica handles several hundred a second.
    "orchestrator-events": 500,
    "orchestrator-commands": 50,
    "research-commands": 100,
    "publisher-commands": 100,
    "social-commands": 200,
    "monitor-commands": 500,
}
"""How many messages waiting or in hand are enough work for one replica."""
DEAD_LETTERS_PER_REPLICA: Final = 500


CPU_TRIGGER: Final[Mapping[str, Any]] = {
    # Requests over HTTP wait in no queue. A process has one core at most, so six tenths of it are much; and it is a
    # figure, no percentage: what a replica asks for of its node is little, on purpose.
    "type": "cpu",
    "metricType": "AverageValue",
    "metadata": {"value": "600m"},
}
"""Beside the queues, in the same ScaledObject: KEDA makes one autoscaler of all triggers, and the greatest wins."""


def files() -> dict[Path, str]:
    """Path → what should be in it."""
    described = permissions.describe(CATALOGUE)
    made = {
        "components/broker-operator/topology.yaml": ("messaging.topology", _topology()),
        "components/broker-operator/users.yaml": (
            "messaging.topology.permissions",
            _users(described.values()),
        ),
        "components/autoscaling/scaled-objects.yaml": (
            "messaging.topology.permissions",
            (_scaled_object(*each) for each in _scaled(described)),
        ),
        "components/order/kustomization.yaml": ("manifests/order.py", [order.component()]),
        "components/monitoring/alerts.yaml": ("deploy/observability/prometheus/alerts.yml", [_alerts()]),
    }
    source = "manifests/existing.py and the components for other servers"
    for name, documents in {
        "broker-existing/kustomization.yaml": [existing.broker()],
        "broker-existing/network.yaml": existing.broker_network(),
        "broker-existing/topology.yaml": existing.topology(),
        "database-existing/kustomization.yaml": [existing.database()],
        "database-existing/network.yaml": existing.database_network(),
    }.items():
        made[f"components/{name}"] = (source, documents)
    for name, size in sizes.SIZES.items():
        made[f"components/size-{name.lower()}/kustomization.yaml"] = (
            "manifests/sizes.py",
            [sizes.component(size)],
        )
    return {HOME / name: _text(source, documents) for name, (source, documents) in made.items()}


def write() -> list[Path]:
    """Renews the files; returns those that were not as they should be."""
    changed = []
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            changed.append(path)
    return changed


def _topology() -> Iterator[Document]:
    described = topology.describe(CATALOGUE)
    for exchange in described.exchanges:
        spec = {"name": exchange, "type": "topic", "durable": True}
        yield _rabbitmq("Exchange", exchange, _VHOST | spec)
    for queue in described.queues:
        # The type is a field of its own here; the operator makes the argument of it.
        arguments = {key: value for key, value in queue.arguments.items() if key != "x-queue-type"}
        spec = {
            "name": queue.name,
            "type": queue.arguments["x-queue-type"],
            "durable": True,
            # With the default, whoever deletes this resource deletes the queue with all that waits in it.
            "deletionPolicy": "retain",
            "arguments": arguments,
        }
        yield _rabbitmq("Queue", queue.name, _VHOST | spec)
    for binding in described.bindings:
        spec = {
            "source": binding.exchange,
            "destination": binding.queue,
            "destinationType": "queue",
            "routingKey": binding.routing_key,
        }
        yield _rabbitmq("Binding", name_of_binding(binding), _VHOST | spec)


def name_of_binding(binding: Binding) -> str:
    """A name of its own for each key: a binding cannot be changed, so another key is another object."""
    key = re.sub(r"[^a-z0-9]+", "-", binding.routing_key.lower()).strip("-")
    # Two keys may look the same without their dots and stars.
    digest = hashlib.sha256(binding.routing_key.encode()).hexdigest()[:8]
    by = ["by", key] if key not in {"", binding.queue} else []
    return "-".join([binding.exchange, "to", binding.queue, *by, digest])


def _users(described: Iterable[Permissions]) -> Iterator[Document]:
    for each in described:
        user = {"userReference": {"name": each.service}}
        yield _rabbitmq("User", each.service, {"importCredentialsSecret": {"name": f"{each.service}-broker"}})
        allowed = {"configure": each.configure, "write": each.write, "read": each.read}
        yield _rabbitmq("Permission", each.service, _VHOST | user | {"permissions": allowed})
        for exchange, routing_keys in each.topics.items():
            # Reading by topic is what binding takes, and the topology is nobody's of these.
            spec = {"permissions": {"exchange": exchange, "write": routing_keys, "read": NOTHING}}
            yield _rabbitmq("TopicPermission", f"{each.service}-{exchange}", _VHOST | user | spec)


def _rabbitmq(kind: str, name: str, spec: Document) -> Document:
    return {
        "apiVersion": "rabbitmq.com/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec | _BROKER,
    }


def _scaled(described: Mapping[str, Permissions]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every Deployment of ours with the queues that it consumes."""
    yield from ((consumer.service, consumer.queues) for consumer in described.values())
    yield from ((service, ()) for service in WITHOUT_MESSAGES)


def _scaled_object(service: str, queues: Iterable[str]) -> Document:
    most_replicas = {entry.name: entry.most_replicas for entry in REGISTRY}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": service},
        "spec": {
            "scaleTargetRef": {"name": service},
            # Never to zero: pages and APIs are served, and what is due later leaves by a running process.
            "minReplicaCount": 2,
            "maxReplicaCount": most_replicas[service],
            "pollingInterval": 15,
            "advanced": {
                "horizontalPodAutoscalerConfig": {
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300}}
                }
            },
            "triggers": [*map(_trigger, queues), CPU_TRIGGER],
        },
    }


def _trigger(queue: str) -> Document:
    return {
        "type": "rabbitmq",
        "metadata": {
            # AMQP does not tell of messages that are in hand: replicas would go while they work.
            "protocol": "http",
            "vhostName": "/",
            "queueName": queue,
            "mode": "QueueLength",
            "value": str(MESSAGES_PER_REPLICA.get(queue, DEAD_LETTERS_PER_REPLICA)),
        },
        "authenticationRef": {"name": "keda-broker"},
    }


def _alerts() -> Document:
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "brand-engine"},
        "spec": yaml.safe_load(ALERTS.read_text()),
    }


def _text(source: str, documents: Iterable[Document]) -> str:
    body = yaml.safe_dump_all(documents, sort_keys=False, width=110, allow_unicode=True)
    return f"# Made from {source}; change it there, then: make schemas\n{body}"
