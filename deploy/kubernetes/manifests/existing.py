"""Components for a broker and a database server that are there already, made from those for the operators' servers.

Both are reached with TLS, and their certificates are verified: the secrets `rabbitmq-tls` and `postgres-ca` have the
authority in `ca.crt`. An overlay names the hosts and their addresses.
"""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from envelope.brand import DEPLOYED
from manifests.network import LEADS_TO
from manifests.rendering import HOME

Document = dict[str, Any]

BROKER_HOST: Final = "broker.example.com"
DATABASE_HOST: Final = "database.example.com"
AMQPS, API = 5671, 15671
"""Ports of the broker."""
ADDRESSES: Final = {"broker": "192.0.2.30/32", "database": "192.0.2.40/32"}
"""Where network policies lead to → the address of the example."""
_COMPONENT: Final = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}


def broker() -> Document:
    """The component `broker-existing`. After autoscaling and monitoring."""
    encryption = HOME / "components/broker-encryption"
    return _COMPONENT | {
        "resources": ["network.yaml", "topology.yaml"],
        "configMapGenerator": [
            {
                "name": "settings",
                "behavior": "merge",
                "literals": [
                    "BROKER_SCHEME=amqps",
                    f"BROKER_ADDRESS={BROKER_HOST}:{AMQPS}",
                    "BROKER_OPTIONS=?cafile=/etc/rabbitmq-ca/ca.crt",
                ],
            }
        ],
        "patches": [
            {
                "target": {
                    "kind": "Deployment",
                    "labelSelector": "app.kubernetes.io/component=service,app.kubernetes.io/name notin (gateway, console)",
                },
                "patch": (encryption / "service.yaml").read_text(),
            },
            {
                "target": {"kind": "TriggerAuthentication", "name": "keda-broker"},
                "patch": (encryption / "authentication.yaml").read_text(),
            },
            # Its owner scrapes it.
            _without("ServiceMonitor", "monitoring.coreos.com/v1", "rabbitmq"),
            _without("NetworkPolicy", "networking.k8s.io/v1", "from-prometheus-to-rabbitmq"),
        ],
    }


def broker_network() -> Iterator[Document]:
    """Services and the Job of the topology reach the broker."""
    policies = _documents("components/broker-dev/network.yaml")
    for policy in policies:
        if policy["metadata"]["name"] == "services-to-rabbitmq":
            yield _leading(policy, "broker", AMQPS)
        if policy["metadata"]["name"] == "topology":
            yield _leading(policy, "broker", AMQPS, API)


def topology() -> Iterator[Document]:
    """The Job that declares queues and users, at this broker."""
    for document in _documents("components/broker-dev/topology.yaml"):
        if document["kind"] == "Job":
            pod = document["spec"]["template"]["spec"]
            for container in (*pod["initContainers"], *pod["containers"]):
                container["env"] = [*map(_at_broker, container["env"])]
                # Read by Python, for the management API.
                container["env"].append({"name": "SSL_CERT_FILE", "value": "/etc/rabbitmq-ca/ca.crt"})
                container["volumeMounts"].append(
                    {"name": "rabbitmq-ca", "mountPath": "/etc/rabbitmq-ca", "readOnly": True}
                )
            items = [{"key": "ca.crt", "path": "ca.crt"}]
            pod["volumes"].append(
                {"name": "rabbitmq-ca", "secret": {"secretName": "rabbitmq-tls", "items": items}}
            )
        yield document


def _at_broker(variable: Document) -> Document:
    match variable:
        case {"name": "RABBITMQ_URL", "value": value}:
            address = f"@{BROKER_HOST}:{AMQPS}/%2F?cafile=/etc/rabbitmq-ca/ca.crt"
            return variable | {"value": re.sub("@.*", address, value.replace("amqp://", "amqps://"))}
        case {"name": "RABBITMQ_API_URL", "value": value}:
            address = f"@{BROKER_HOST}:{API}"
            return variable | {"value": re.sub("@.*", address, value.replace("http://", "https://"))}
        case _:
            return variable


def database() -> Document:
    """The component `database-existing`."""
    operator = HOME / "components/database-operator"
    patches = [
        {"target": {"kind": kind, "name": f"{prefix}{service}"}, "patch": _moved(service, kind)}
        for service in DEPLOYED
        for kind, prefix in (("Deployment", ""), ("Job", "migrate-"))
    ]
    for kind, component in (("Deployment", "service"), ("Job", "migration")):
        patches.append(
            {
                "target": {"kind": kind, "labelSelector": f"app.kubernetes.io/component={component}"},
                "patch": (operator / f"encrypted-{component}.yaml").read_text(),
            }
        )
    return _COMPONENT | {"resources": ["network.yaml"], "patches": patches}


def database_network() -> Iterator[Document]:
    """Services and migrations reach the database server."""
    for policy in _documents("components/database-dev/postgres.yaml"):
        if policy["kind"] == "NetworkPolicy" and policy["metadata"]["name"] == "services-to-postgres":
            yield _leading(policy, "database", 5432)


def _moved(service: str, kind: str) -> str:
    """A patch of the address in DATABASE_URL."""
    documents = _documents(f"base/services/{service}.yaml")
    (workload,) = (each for each in documents if each["kind"] == kind)
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in container["env"]]
    index = names.index("DATABASE_URL")
    value = container["env"][index]["value"].replace("@postgres-rw:5432/", f"@{DATABASE_HOST}:5432/")
    path = f"/spec/template/spec/containers/0/env/{index}"
    return json.dumps(
        [
            {"op": "test", "path": f"{path}/name", "value": "DATABASE_URL"},
            {"op": "replace", "path": f"{path}/value", "value": value},
        ]
    )


def _leading(policy: Document, to: str, *ports: int) -> Document:
    """The same policy, to addresses outside of the cluster."""
    made = copy.deepcopy(policy)
    made["metadata"]["labels"] = {LEADS_TO: to}
    made["spec"]["egress"] = [
        {
            "to": [{"ipBlock": {"cidr": ADDRESSES[to]}}],
            "ports": [{"protocol": "TCP", "port": port} for port in ports],
        }
    ]
    return made


def _without(kind: str, version: str, name: str) -> Document:
    removed = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "$patch": "delete"}
    return {"target": {"kind": kind, "name": name}, "patch": yaml.safe_dump(removed)}


def _documents(path: str) -> list[Document]:
    return list(yaml.safe_load_all((HOME / path).read_text()))
