"""Network policies of Alertmanager. It belongs to the chart of the Prometheus operator, in a namespace of its own; only its policies are ours."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from manifests.cluster import Cluster, identity, selects
from manifests.network import LEADS_TO, NAMESPACE_NAME, is_wide

PODS: Final = {"app.kubernetes.io/name": "alertmanager"}
"""The labels that the Prometheus operator gives the pods."""
_RECEIVERS: Final = "alert-receivers"
_DNS: Final = frozenset({("TCP", 53), ("UDP", 53)})
_REPLICAS: Final = frozenset({("TCP", 9094), ("UDP", 9094)})


def concerns_alertmanager_alone(cluster: Cluster) -> bool:
    """Whether an overlay has policies and nothing else: then it is no installation of the services."""
    return bool(cluster.resources) and all(each["kind"] == "NetworkPolicy" for each in cluster.resources)


def policies_are_in_one_namespace(cluster: Cluster) -> Iterator[str]:
    """The one of the chart: elsewhere they would select nothing."""
    namespaces = {each["metadata"].get("namespace") for each in cluster.resources}
    if len(namespaces) != 1 or None in namespaces:
        yield "the overlay must name one namespace, that of the Prometheus operator's chart"


def policies_select_alertmanager(cluster: Cluster) -> Iterator[str]:
    """Without a policy for both, pods reach whatever their namespace may; one for all pods would cut off Prometheus, too."""
    for policy in cluster.resources:
        selector = policy["spec"]["podSelector"]
        if not selects(selector, PODS) or selects(selector, {}):
            yield f"{identity(policy)}: must select the pods with the label app.kubernetes.io/name=alertmanager"
        if policy["spec"].get("policyTypes") != ["Egress"]:
            yield f"{identity(policy)}: policyTypes must be [Egress]: who may reach Alertmanager is the chart's concern"


def receivers_are_named(cluster: Cluster) -> Iterator[str]:
    """At least one address, each with its ports, and none so wide that it is no address any more."""
    receivers = [
        (policy, rule)
        for policy in cluster.resources
        if policy["metadata"].get("labels", {}).get(LEADS_TO) == _RECEIVERS
        for rule in policy["spec"].get("egress") or []
    ]
    if not any(rule.get("to") for _, rule in receivers):
        yield (
            f"no address of a receiver is named: put those of the mail server or the webhook into the NetworkPolicy with {LEADS_TO}={_RECEIVERS}"
        )
    for policy, rule in receivers:
        yield from (f"{identity(policy)}: {what}" for what in _of_receivers(rule))


def _of_receivers(rule: Mapping[str, Any]) -> Iterator[str]:
    if not rule.get("to"):
        yield "a rule without addresses leads everywhere: name those of the receivers"
    if not rule.get("ports") or not all("port" in port for port in rule["ports"]):
        yield "a rule must name the ports of its receivers, such as 587 or 443"
    for peer in rule.get("to") or []:
        if "ipBlock" in peer and is_wide(peer["ipBlock"]):
            yield f"{peer['ipBlock']['cidr']} is too wide: name the addresses of the receivers"


def nothing_else_can_be_reached(cluster: Cluster) -> Iterator[str]:
    """Beside the receivers: names, and the other replicas. Both are needed."""
    open_ports: dict[str, set[tuple[str, int]]] = {"kube-system": set(), "replicas": set()}
    for policy in cluster.resources:
        leads_to_receivers = policy["metadata"].get("labels", {}).get(LEADS_TO) == _RECEIVERS
        for rule in policy["spec"].get("egress") or []:
            for peer in rule.get("to") or [{}]:
                place = _place(peer)
                if place is not None:
                    open_ports[place] |= _ports(rule)
                elif not (leads_to_receivers and (not peer or _is_receiver(peer))):
                    yield f"{identity(policy)}: Alertmanager needs none of {peer or 'everywhere'}"
    for place, needed in (("kube-system", _DNS), ("replicas", _REPLICAS)):
        yield from (f"{place}: {port} is needed, and closed" for port in sorted(needed - open_ports[place]))
        yield from (f"{place}: {port} is open, and not needed" for port in sorted(open_ports[place] - needed))


def _place(peer: Mapping[str, Any]) -> str | None:
    """`kube-system` or `replicas`; None if it is neither, or more than that."""
    namespace = peer.get("namespaceSelector")
    if namespace is None:
        return "replicas" if peer.get("podSelector") == {"matchLabels": PODS} else None
    return "kube-system" if namespace == {"matchLabels": {NAMESPACE_NAME: "kube-system"}} else None


def _is_receiver(peer: Mapping[str, Any]) -> bool:
    """By address; or a relay for mail and the like in another namespace, by the labels of its pods."""
    elsewhere = peer.get("namespaceSelector", {}).get("matchLabels", {}).get(NAMESPACE_NAME)
    return "ipBlock" in peer or bool(elsewhere and peer.get("podSelector"))


def _ports(rule: Mapping[str, Any]) -> set[tuple[str, int]]:
    """Protocol and number; 0 stands for all of them, and for a name, which ports outside do not have."""
    found = set()
    for each in rule.get("ports") or [{}]:
        first = each.get("port", 0)
        first = first if isinstance(first, int) else 0
        found |= {
            (str(each.get("protocol", "TCP")), number)
            for number in range(first, each.get("endPort", first) + 1)
        }
    return found
