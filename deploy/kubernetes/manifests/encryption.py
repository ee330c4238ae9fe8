"""If operators run broker and database, all connections to them are encrypted and verify the server."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from manifests.cluster import WITHOUT_MESSAGES, Cluster, Resource, Workload, environment, identity

OPERATOR_URI: Final = "rabbitmq.com/operator-connection-uri"
"""Annotation: where the topology operator finds the broker, in place of what it would think of by itself."""

_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def connections_are_encrypted_and_verified(cluster: Cluster) -> Iterator[str]:
    for broker in cluster.of_kind("RabbitmqCluster"):
        yield from (f"{identity(broker)}: {what}" for what in _of_broker(cluster, broker))
        for service in (each for each in cluster.services if each.name not in WITHOUT_MESSAGES):
            yield from (f"{service}: {what}" for what in _of_broker_url(cluster, service))
        yield from _of_autoscaler(cluster)
    if any(cluster.of_kind("Cluster")):
        migrations = [each for each in cluster.workloads if each.component == "migration"]
        for workload in (*cluster.services, *migrations):
            yield from (f"{workload}: {what}" for what in _of_database(workload))


def _of_broker(cluster: Cluster, broker: Resource) -> Iterator[str]:
    name = broker["metadata"]["name"]
    secret = broker["spec"].get("tls", {}).get("secretName")
    if secret is None:
        yield "has no certificate: spec.tls.secretName"
        return
    host = f"{name}.{cluster.namespace}.svc"
    for certificate in cluster.of_kind("Certificate"):
        if certificate["spec"]["secretName"] == secret:
            missing = {name, host} - set(certificate["spec"].get("dnsNames", []))
            yield from (f"its certificate does not hold for {each}" for each in sorted(missing))
    told = broker["metadata"].get("annotations", {}).get(OPERATOR_URI)
    if told is not None and urlsplit(told).hostname != host:
        yield f"{OPERATOR_URI} must name {host}"


def _of_broker_url(cluster: Cluster, service: Workload) -> Iterator[str]:
    (container,) = service.main_containers
    values = {name: value for name, value in environment(container).items() if isinstance(value, str)}
    known = dict(cluster.settings) | values
    url = urlsplit(_VARIABLE.sub(lambda found: known.get(found[1], "x"), values.get("RABBITMQ_URL", "")))
    if url.scheme != "amqps":
        yield f"speaks {url.scheme} with the broker, and must speak amqps"
    query = parse_qs(url.query)
    if "no_verify_ssl" in query or not _is_mounted(container, *query.get("cafile", [""])):
        yield "must know by which authority the broker's certificate is: cafile in RABBITMQ_URL, and mounted"


def _of_autoscaler(cluster: Cluster) -> Iterator[str]:
    for authentication in cluster.of_kind("TriggerAuthentication"):
        given = {each["parameter"] for each in authentication["spec"]["secretTargetRef"]}
        if not {"tls", "ca"} <= given:
            yield f"{identity(authentication)}: tls and ca are missing, and the password would pass in the clear"


def _of_database(workload: Workload) -> Iterator[str]:
    for container in workload.main_containers:
        values = environment(container)
        if values.get("PGSSLMODE") != "verify-full":
            yield "PGSSLMODE must be verify-full, or anybody could answer for the database"
        if not _is_mounted(container, str(values.get("PGSSLROOTCERT", ""))):
            yield "must know by which authority the database's certificate is: PGSSLROOTCERT, and mounted"


def _is_mounted(container: Mapping[str, Any], path: str) -> bool:
    return posixpath.dirname(path) in {each["mountPath"] for each in container.get("volumeMounts", [])}
