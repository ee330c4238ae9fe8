"""Pods can do little, and hold no secret that they do not need.

The first rule is the level `restricted` of Kubernetes' pod security standards.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from manifests.cluster import OWN_IMAGES, Cluster, Workload, environment, identity
from manifests.schemas import OLDEST

_OF_THE_CLUSTER: Final = frozenset({"Namespace", "PriorityClass"})
"""Kinds that are in no namespace."""
_VOLUMES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_SECRET: Final = re.compile(r"PASSWORD|PASS$|SECRET|TOKEN|_KEY$")
_CREDENTIALS_IN_URL: Final = re.compile(r"://[^/@\s]*:(?!\$\()[^/@\s]+@")


def pods_are_restricted(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        yield from (f"{workload}: {what}" for what in _of_pod(workload))
        for container in workload.containers:
            yield from (f"{workload}, {container['name']}: {what}" for what in _of_container(container))


def _of_pod(workload: Workload) -> Iterator[str]:
    pod = workload.pod
    context = pod.get("securityContext", {})
    if context.get("runAsNonRoot") is not True:
        yield "securityContext.runAsNonRoot must be true"
    if not context.get("runAsUser"):
        yield "securityContext.runAsUser must name a user who is not root"
    if context.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        yield "securityContext.seccompProfile must be RuntimeDefault"
    yield from (
        f"{field} is not allowed" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.get(field)
    )
    for volume in pod.get("volumes", []):
        if not _VOLUMES & volume.keys():
            yield f"volume {volume['name']}: {', '.join(volume.keys() - {'name'})} is not allowed"
    if workload.pod.get("ephemeralContainers"):
        yield "ephemeralContainers do not belong into a manifest"


def _of_container(container: Mapping[str, Any]) -> Iterator[str]:
    context = container.get("securityContext", {})
    if context.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation must be false"
    if context.get("privileged"):
        yield "privileged is not allowed"
    if context.get("runAsNonRoot") is False or context.get("runAsUser") == 0:
        yield "must not run as root"
    if context.get("seccompProfile", {"type": "RuntimeDefault"}).get("type") == "Unconfined":
        yield "seccompProfile must not be Unconfined"
    capabilities = context.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", []):
        yield "capabilities must drop ALL"
    if set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "capabilities must not be added"
    if any(port.get("hostPort") for port in container.get("ports", [])):
        yield "hostPort is not allowed"


def own_images_cannot_be_written_to(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        for container in workload.containers:
            read_only = container.get("securityContext", {}).get("readOnlyRootFilesystem")
            if OWN_IMAGES in container["image"] and read_only is not True:
                yield f"{workload}, {container['name']}: readOnlyRootFilesystem must be true"


def containers_have_requests_and_limits(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        for container in workload.containers:
            resources = container.get("resources", {})
            for kind, what in product(("requests", "limits"), ("cpu", "memory")):
                if not resources.get(kind, {}).get(what):
                    yield f"{workload}, {container['name']}: resources.{kind}.{what} is missing"
        for volume in workload.pod.get("volumes", []):
            if "emptyDir" in volume and not (volume["emptyDir"] or {}).get("sizeLimit"):
                yield f"{workload}: volume {volume['name']} needs a sizeLimit"


def servers_are_guaranteed_what_they_ask_for(cluster: Cluster) -> Iterator[str]:
    """Requests and limits alike in every container: a node that is short of memory takes from others first."""
    for resource in (*cluster.of_kind("RabbitmqCluster"), *cluster.of_kind("Cluster")):
        yield from (f"{identity(resource)}: {what}" for what in _of_resources(resource["spec"]))
    for store in cluster.of_kind("ObjectStore"):
        beside = store["spec"].get("instanceSidecarConfiguration", {})
        yield from (f"{identity(store)}, sidecar: {what}" for what in _of_resources(beside))


def _of_resources(spec: Mapping[str, Any]) -> Iterator[str]:
    resources = spec.get("resources", {})
    if not resources.get("limits"):
        yield "resources.limits are missing"
    elif resources.get("requests") != resources["limits"]:
        yield "resources.requests and limits must be alike"


def no_pod_has_a_token(cluster: Cluster) -> Iterator[str]:
    for workload in cluster.workloads:
        if workload.pod.get("automountServiceAccountToken") is not False:
            yield f"{workload}: automountServiceAccountToken must be false"
        account = workload.pod.get("serviceAccountName", "default")
        found = cluster.find("ServiceAccount", account)
        if found is None:
            yield f"{workload}: needs a service account of its own, which {account!r} is not"
        elif found.get("automountServiceAccountToken") is not False:
            yield f"ServiceAccount/{account}: automountServiceAccountToken must be false"
    for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"):
        for resource in cluster.of_kind(kind):
            yield f"{identity(resource)}: nothing here speaks with the API server"


def the_namespace_enforces_what_the_pods_keep(cluster: Cluster) -> Iterator[str]:
    namespaces = list(cluster.of_kind("Namespace"))
    if len(namespaces) != 1:
        yield f"there must be one Namespace, not {len(namespaces)}"
        return
    (namespace,) = namespaces
    labels = namespace["metadata"].get("labels", {})
    if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
        yield "the Namespace must have the label pod-security.kubernetes.io/enforce: restricted"
    version = labels.get("pod-security.kubernetes.io/enforce-version", "latest")
    if version != f"v{OLDEST}":
        yield f"the Namespace must have the label pod-security.kubernetes.io/enforce-version: v{OLDEST}"
    name = namespace["metadata"]["name"]
    for resource in cluster.resources:
        if resource["kind"] not in _OF_THE_CLUSTER and resource["metadata"].get("namespace") != name:
            yield f"{identity(resource)}: is not in the namespace {name}"


def no_secret_stands_in_the_manifests(cluster: Cluster) -> Iterator[str]:
    for resource in cluster.of_kind("Secret"):
        yield f"{identity(resource)}: secrets are made in the cluster, not kept in files"
    for workload in cluster.workloads:
        for container in workload.containers:
            for name, value in environment(container).items():
                if isinstance(value, str) and (_SECRET.search(name) or _CREDENTIALS_IN_URL.search(value)):
                    yield f"{workload}, {container['name']}: {name} must come from a secret"
