"""What refers to something finds it, and what selects something selects the right thing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chassis.command_line import REFUSED
from envelope.brand import DEPLOYED
from manifests import credentials
from manifests.cluster import (
    OWN_IMAGES,
    Cluster,
    Resource,
    Workload,
    environment,
    identity,
    selects,
    version_of,
)
from manifests.ingress import ingress_paths

_REFERENCES: Final[Mapping[str, str]] = {
    "rabbitmqClusterReference": "RabbitmqCluster",
    "userReference": "User",
    "cluster": "Cluster",
    "scaleTargetRef": "Deployment",
}
"""Field of a custom resource → the kind of what it names."""

_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def everything_referred_to_is_there(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        yield from (f"{workload}: {what}" for what in _missing_of_pod(cluster, workload))
    for ingress in cluster.of_kind("Ingress"):
        for _, path in ingress_paths(ingress):
            backend = path["backend"]["service"]
            ports = _service_ports(cluster.find("Service", backend["name"]))
            if backend["port"].get("name", backend["port"].get("number")) not in ports:
                yield f"{identity(ingress)}: there is no such port of Service/{backend['name']}"
    for resource in cluster.resources:
        for what in _missing_of_custom_resource(cluster, resource):
            yield f"{identity(resource)}: {what}"


def _missing_of_pod(cluster: Cluster, workload: Workload) -> Iterator[str]:
    for container in workload.containers:
        for source in container.get("envFrom", []):
            if "configMapRef" in source:
                yield from _missing(cluster, "ConfigMap", source["configMapRef"]["name"])
            if "secretRef" in source:
                yield "envFrom a secret hands over more than is needed: name the keys"
        for value in environment(container).values():
            if isinstance(value, Mapping):
                yield from _missing_of_value(cluster, value)
        mounted = {each["name"] for each in container.get("volumeMounts", [])}
        yield from (f"volume {name} is not defined" for name in mounted - _volumes(workload))
    for volume in workload.pod.get("volumes", []):
        yield from _missing_of_volume(cluster, volume)
    if name := workload.pod.get("priorityClassName"):
        yield from _missing(cluster, "PriorityClass", name)


def _missing_of_volume(cluster: Cluster, volume: Mapping[str, Any]) -> Iterator[str]:
    if secret := volume.get("secret"):
        if not secret.get("items"):
            yield f"volume {volume['name']} hands over a whole secret: name the keys"
        for item in secret.get("items", []):
            yield from _missing_secret(cluster, secret["secretName"], item["key"])
    if "configMap" in volume:
        yield from _missing(cluster, "ConfigMap", volume["configMap"]["name"])
    if "persistentVolumeClaim" in volume:
        yield from _missing(cluster, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])


def _missing_of_value(cluster: Cluster, value: Mapping[str, Any]) -> Iterator[str]:
    if secret := value.get("secretKeyRef"):
        yield from _missing_secret(cluster, secret["name"], secret["key"])
    if reference := value.get("configMapKeyRef"):
        found = cluster.find("ConfigMap", reference["name"])
        if found is None or reference["key"] not in found.get("data", {}):
            yield f"ConfigMap/{reference['name']} has no {reference['key']}"


def _missing_of_custom_resource(cluster: Cluster, resource: Resource) -> Iterator[str]:
    spec = resource.get("spec", {})
    for field, kind in _REFERENCES.items():
        if reference := spec.get(field):
            yield from _missing(cluster, kind, reference["name"])
    for trigger in spec.get("triggers", []):
        if reference := trigger.get("authenticationRef"):
            yield from _missing(cluster, "TriggerAuthentication", reference["name"])
    for plugin in spec.get("plugins", []):
        yield from _missing(cluster, "ObjectStore", plugin["parameters"]["barmanObjectName"])
    if issuer := spec.get("issuerRef"):
        yield from _missing(cluster, issuer["kind"], issuer["name"])
    for name, key in credentials.needed(resource["kind"], spec):
        yield from _missing_secret(cluster, name, key)


def _missing(cluster: Cluster, kind: str, name: str) -> Iterator[str]:
    if cluster.find(kind, name) is None:
        yield f"there is no {kind}/{name}"


def _missing_secret(cluster: Cluster, name: str, key: str) -> Iterator[str]:
    if key not in credentials.made(cluster).get(name, frozenset()):
        yield f"nobody makes a secret {name} with the key {key}: neither secrets.sh nor an operator"


def _volumes(workload: Workload) -> set[str]:
    claimed = workload.resource["spec"].get("volumeClaimTemplates", [])
    return {each["name"] for each in workload.pod.get("volumes", [])} | {
        each["metadata"]["name"] for each in claimed
    }


def selectors_select_what_they_should(cluster: Cluster) -> Iterator[str]:
    for service in cluster.of_kind("Service"):
        yield from (f"{identity(service)}: {what}" for what in _of_service(cluster, service["spec"]))
    for workload in cluster.workloads:
        selector = workload.resource["spec"].get("selector")
        if workload.kind != "Job" and not (selector and selects(selector, workload.labels)):
            yield f"{workload}: its selector does not select its own pods"
    for monitor in cluster.of_kind("ServiceMonitor"):
        yield from (f"{identity(monitor)}: {what}" for what in _of_monitor(cluster, monitor))


def _of_service(cluster: Cluster, spec: Mapping[str, Any]) -> Iterator[str]:
    selector = {"matchLabels": spec["selector"]}
    selected = [each for each in cluster.workloads if selects(selector, each.labels)]
    if len(selected) != 1:
        yield f"must select the pods of one workload, not of {len(selected)}"
        return
    ports = {name for container in selected[0].main_containers for name in _container_ports(container)}
    for port in spec["ports"]:
        if port.get("targetPort", port["port"]) not in ports:
            yield f"{selected[0]} has no port {port.get('targetPort', port['port'])}"


def _of_monitor(cluster: Cluster, monitor: Resource) -> Iterator[str]:
    services = [
        each
        for each in cluster.of_kind("Service")
        if selects(monitor["spec"]["selector"], each["metadata"].get("labels", {}))
    ]
    # The service of an operator's cluster is the operator's to make, under the name of the cluster.
    if not services and cluster.find("RabbitmqCluster", monitor["metadata"]["name"]) is None:
        yield "selects no Service"
    for service in services:
        for endpoint in monitor["spec"]["endpoints"]:
            if endpoint["port"] not in _service_ports(service):
                yield f"{identity(service)} has no port {endpoint['port']}"


def the_prometheus_operator_takes_what_it_is_for(cluster: Cluster) -> Iterator[str]:
    for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule"):
        for resource in cluster.of_kind(kind):
            if not resource["metadata"].get("labels", {}).get("release"):
                yield f"{identity(resource)}: without the label `release`, kube-prometheus-stack passes it over"


def servers_outlive_services(cluster: Cluster) -> Iterator[str]:
    """Where operators run them: the one is of a higher class than the others."""
    values = {each["metadata"]["name"]: each["value"] for each in cluster.of_kind("PriorityClass")}
    of_services = [values.get(each.pod.get("priorityClassName"), 0) for each in cluster.services]
    for resource in (*cluster.of_kind("RabbitmqCluster"), *cluster.of_kind("Cluster")):
        spec = resource["spec"]
        template = spec.get("override", {}).get("statefulSet", {}).get("spec", {}).get("template", {})
        name = spec.get("priorityClassName") or template.get("spec", {}).get("priorityClassName")
        if values.get(name, 0) <= max(of_services, default=0):
            yield f"{identity(resource)}: its priority class must be above that of the services"


def services_listen_where_they_are_asked(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.services:
        (container,) = workload.main_containers
        values = dict(cluster.settings) | environment(container)
        ports = [
            str(port["containerPort"]) for port in container.get("ports", []) if port.get("name") == "http"
        ]
        if ports != [values.get("HTTP_PORT")]:
            yield f"{workload}: HTTP_PORT is {values.get('HTTP_PORT')}, and the port http is {', '.join(ports)}"
        if values.get("HTTP_HOST") != "0.0.0.0":  # noqa: S104 - inside a container there is nobody else
            yield f"{workload}: HTTP_HOST must be 0.0.0.0"


def variables_are_defined_before_they_are_used(cluster: Cluster) -> Iterator[str]:
    """What refers to a variable that is defined further down is left as it is, without a word."""
    for workload in cluster.workloads:
        for container in workload.containers:
            known = set(cluster.settings) if container.get("envFrom") else set()
            for name, value in environment(container).items():
                used = _VARIABLE.findall(value) if isinstance(value, str) else []
                for missing in set(used) - known:
                    yield f"{workload}, {container['name']}: {name} uses {missing}, which is not defined before it"
                known.add(name)
        if workload.pod.get("enableServiceLinks") is not False:
            yield f"{workload}: enableServiceLinks must be false, or variables of other services come along"


def images_have_a_version(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        for container in workload.containers:
            if "@sha256:" not in container["image"] and version_of(container["image"]) in {"", "latest"}:
                yield f"{workload}, {container['name']}: {container['image']} names no version"
    versions = {
        version_of(container["image"])
        for workload in cluster.workloads
        for container in workload.containers
        if OWN_IMAGES in container["image"]
    }
    if len(versions) > 1:
        yield f"the images of the services have several versions: {', '.join(sorted(versions))}"


def every_service_has_its_migration(cluster: Cluster) -> Iterator[str]:
    for service in DEPLOYED:
        job = next((each for each in cluster.workloads if str(each) == f"Job/migrate-{service}"), None)
        if job is None:
            yield f"Job/migrate-{service} is missing"
            continue
        (container,) = job.main_containers
        if container.get("command") != ["python", "-m", service, "migrate"]:
            yield f"{job}: must run python -m {service} migrate"
        if "RABBITMQ_URL" in environment(container):
            yield f"{job}: a migration needs no broker"
        rules = job.resource["spec"].get("podFailurePolicy", {}).get("rules", [])
        given_up = [rule["onExitCodes"]["values"] for rule in rules if rule["action"] == "FailJob"]
        if given_up != [[REFUSED]]:
            yield f"{job}: exit code {REFUSED} must end it: the database refuses the migration, and will again"
        if job.pod.get("restartPolicy") != "Never":
            yield f"{job}: restartPolicy must be Never, or the log goes with the last try"
    for workload in cluster.workloads:
        if workload.kind == "Job" and "backoffLimit" not in workload.resource["spec"]:
            yield f"{workload}: backoffLimit is missing"


def jobs_are_named_by_their_release(cluster: Cluster) -> Iterator[str]:
    """A Job cannot be changed: under the name of the last release, the next one would be refused."""
    for workload in cluster.workloads:
        name = workload.resource["metadata"]["name"]
        if workload.kind == "Job" and not name.endswith(f"-{workload.release}"):
            yield f"Job/{name}: its name must end in -{workload.release}: deploy/kubernetes/release.sh writes it"
        if workload.kind == "Job" and "ttlSecondsAfterFinished" not in workload.resource["spec"]:
            yield f"Job/{name}: ttlSecondsAfterFinished is missing, and those of old releases would stay"


def nothing_is_written_that_the_cluster_drops(cluster: Cluster) -> Iterator[str]:
    """An empty list is not stored, so that `kubectl diff` would show it as a change for ever."""
    for resource in cluster.resources:
        yield from (
            f"{identity(resource)}: {path} is an empty list: leave it out" for path in _empty(resource)
        )


def _empty(value: Any, path: str = "") -> Iterator[str]:
    match value:
        case []:
            yield path
        case list():
            for number, each in enumerate(value):
                yield from _empty(each, f"{path}[{number}]")
        case Mapping():
            for key, each in value.items():
                yield from _empty(each, f"{path}.{key}" if path else key)


def _service_ports(service: Mapping[str, Any] | None) -> set[str | int]:
    if service is None:
        return set()
    return {value for port in service["spec"]["ports"] for value in (port.get("name"), port["port"]) if value}


def _container_ports(container: Mapping[str, Any]) -> Iterator[str | int]:
    for port in container.get("ports", []):
        yield from (value for value in (port.get("name"), port["containerPort"]) if value)
