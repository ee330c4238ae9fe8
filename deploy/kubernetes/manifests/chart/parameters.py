"""Puts the values of the chart in place of what an overlay says itself: hosts, images, figures of a size."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from manifests.chart.choices import API_HOST, HOSTS
from manifests.chart.templating import blocks, raw, text, tree
from manifests.existing import AMQPS, API, BROKER_HOST, DATABASE_HOST
from manifests.network import LEADS_TO

Resource = dict[str, Any]

_REGISTRY: Final = "registry.example.com/brand-engine"
_SETTINGS: Final = re.compile(r"settings-[a-z0-9]{10}")
_IMAGE: Final = re.compile(rf"{re.escape(_REGISTRY)}/([a-z]+):[^\s]+")

_RELEASE: Final = text('include "brand-engine.release" .')

_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{host: f".Values.ingress.{name}.host" for name, host in HOSTS.items() if name != "feeds"},
        HOSTS["feeds"]: ".Values.ingress.sites.feedsHost",
        API_HOST: ".Values.ingress.api.host",
        f"{BROKER_HOST}:{AMQPS}": 'printf "%s:%d" .Values.broker.host (.Values.broker.port | int)',
        f"{BROKER_HOST}:{API}": 'printf "%s:%d" .Values.broker.host (.Values.broker.apiPort | int)',
        f"{DATABASE_HOST}:5432": 'printf "%s:%d" .Values.database.host (.Values.database.port | int)',
        "kube-prometheus-stack": ".Values.monitoring.release",
        "s3://brand-engine-backups/": ".Values.database.backups.destination",
        "https://s3.example.com": ".Values.database.backups.endpoint",
    }
)
"""Parts of texts, wherever they stand → value."""

_RANGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api-server": ".Values.network.apiServer",
        "backup-store": ".Values.database.backups.addresses",
        "broker": ".Values.broker.addresses",
        "database": ".Values.database.addresses",
    }
)
_PORTS: Final[Mapping[tuple[str, int], str]] = MappingProxyType(
    {
        ("broker", AMQPS): ".Values.broker.port",
        ("broker", API): ".Values.broker.apiPort",
        ("database", 5432): ".Values.database.port",
    }
)
"""Where a network policy leads to → value with the addresses."""


def parametrise(resource: Resource) -> Resource:
    """Returns the resource with expressions in place of what a value of the chart says."""
    by_kind = _BY_KIND.get(resource["kind"])
    if by_kind is not None:
        by_kind(resource)
    metadata = resource["metadata"]
    if "namespace" in metadata:
        metadata["namespace"] = text(".Release.Namespace")
    changed: Resource = _in_texts(resource)
    return changed


def _in_texts(value: Any) -> Any:
    match value:
        case dict():
            return {key: _in_texts(in_order(key, each)) for key, each in value.items()}
        case list():
            return [_in_texts(each) for each in value]
        case str():
            return _in_text(value)
        case _:
            return value


def in_order(key: str, value: Any) -> Any:
    """Volumes of pods in one order, which has no meaning and depends on the order of patches."""
    if key == "volumes" and isinstance(value, list):
        return sorted(value, key=lambda volume: str(volume["name"]))
    return value


def _in_text(value: str) -> str:
    if found := _IMAGE.fullmatch(value):
        return text(f'include "brand-engine.image" (list . "{found[1]}")')
    if _SETTINGS.fullmatch(value):
        return text('include "brand-engine.settings-name" .')
    for part, expression in _TEXTS.items():
        value = value.replace(part, text(expression))
    return value.replace(".brand-engine.svc", f".{text('.Release.Namespace')}.svc")


def _service(name: str, key: str) -> str:
    return f"$size.services.{name}.{key}"


def _deployment(resource: Resource) -> None:
    name = resource["metadata"]["name"]
    spec = resource["spec"]
    if "replicas" in spec:
        spec["replicas"] = raw(f"{_service(name, 'minReplicas')} | int")
    (container,) = spec["template"]["spec"]["containers"]
    container["resources"] = tree(_service(name, "resources"))


def _scaled_object(resource: Resource) -> None:
    name, spec = resource["metadata"]["name"], resource["spec"]
    spec["minReplicaCount"] = raw(f"{_service(name, 'minReplicas')} | int")
    spec["maxReplicaCount"] = raw(f"{_service(name, 'maxReplicas')} | int")


def _database(resource: Resource) -> None:
    spec = resource["spec"]
    spec["resources"] = tree("$size.database.resources")
    spec["storage"]["size"] = text("$size.database.storage")
    spec["walStorage"]["size"] = text("$size.database.logStorage")
    parameters = spec["postgresql"]["parameters"]
    parameters["max_connections"] = text("$size.database.connections | int")
    parameters["shared_buffers"] = text("$size.database.sharedBuffers")
    for role in spec["managed"]["roles"]:
        service = role["name"].removesuffix("_runtime")
        most = _service(service, "maxReplicas")
        role["connectionLimit"] = raw(f"mul (add {most} 1) $size.connectionsPerReplica")


def _broker(resource: Resource) -> None:
    spec = resource["spec"]
    spec["resources"] = tree("$size.broker.resources")
    spec["persistence"]["storage"] = text("$size.broker.storage")


def _plain_server(resource: Resource) -> None:
    (container,) = resource["spec"]["template"]["spec"]["containers"]
    if container["image"].startswith("postgres:"):
        container["args"][1] = f"max_connections={text('$size.database.connections | int')}"


def _settings(resource: Resource) -> None:
    if "DATABASE_CONNECTIONS" in resource["data"]:
        resource["data"]["DATABASE_CONNECTIONS"] = text("$size.connectionsPerReplica | int")


def _job(resource: Resource) -> None:
    metadata = resource["metadata"]
    base = re.sub(r"-0-1-0$", "", metadata["name"])
    if base == metadata["name"]:
        raise ValueError(f"Job/{base}: its name does not end in the release of overlays/prod")
    metadata["name"] = f"{base}-{_RELEASE}"


def _ingress(resource: Resource) -> None:
    resource["spec"]["ingressClassName"] = text(".Values.ingress.className")
    annotations = resource["metadata"]["annotations"]
    if "cert-manager.io/cluster-issuer" in annotations:
        annotations["cert-manager.io/cluster-issuer"] = text(".Values.ingress.issuer")


def _service_account(resource: Resource) -> None:
    for secret in resource.get("imagePullSecrets", ()):
        secret["name"] = text(".Values.images.pullSecret")


def _network_policy(resource: Resource) -> None:
    target = resource["metadata"].get("labels", {}).get(LEADS_TO)
    if target is not None:
        (rule,) = resource["spec"]["egress"]
        rule["to"] = blocks(_RANGES[target])
        for port in rule["ports"]:
            if (target, port["port"]) in _PORTS:
                port["port"] = raw(f"{_PORTS[target, port['port']]} | int")


_BY_KIND: Final[Mapping[str, Callable[[Resource], None]]] = MappingProxyType(
    {
        "Deployment": _deployment,
        "ScaledObject": _scaled_object,
        "Cluster": _database,
        "RabbitmqCluster": _broker,
        "StatefulSet": _plain_server,
        "ConfigMap": _settings,
        "Job": _job,
        "Ingress": _ingress,
        "ServiceAccount": _service_account,
        "NetworkPolicy": _network_policy,
    }
)
