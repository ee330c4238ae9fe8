"""Rules about network policies: everything is closed except the needed paths."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from envelope.brand import CALLS, REGISTRY
from manifests.cluster import GATEWAY, WITHOUT_MESSAGES, Cluster, Labels, Resource, identity, selects
from manifests.ingress import ingress_paths

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
_AMQP, _MANAGEMENT, _BROKER_METRICS = 5672, 15672, 15692
_POSTGRES, _POSTGRES_STATUS, _POSTGRES_METRICS = 5432, 8000, 9187
_METRICS: Final = 9464
_ERLANG = (4369, 25672, 35672, 35682)
_API_SERVER: Final = frozenset({443, 6443})
_WEB: Final = frozenset({80, 443})
_OUTWARD: Final = _WEB | {465, 587}
"""The web, and where mail is handed in; not where mail servers talk to each other."""
_WIDEST_V4: Final = 12
"""The networks of stores in public clouds are as wide as that."""
_WIDEST_V6: Final = 32
LEADS_TO: Final = "brand-engine/leads-to"
"""The label of a policy that leads to addresses outside of the cluster's namespaces, and what these are."""
_STORE: Final = "backup-store"
_KUBERNETES: Final = "api-server"
_Network: TypeAlias = IPv4Network | IPv6Network
_PRIVATE: Final = tuple(
    ip_network(each)
    for each in (
        "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
        "fc00::/7", "fe80::/10",
    )
)  # fmt: skip
_HTTP: Final = {entry.name: entry.port for entry in REGISTRY}
_READS: Final = (
    *CALLS,
    # Pages, which are for everybody.
    ("orchestrator", "publisher"),
    ("social", "publisher"),
)
_INGRESS_CONTROLLERS: Final = ("traefik", "ingress-nginx")


class NetworkPath(NamedTuple):
    source: str
    target: str
    port: int

    def __str__(self) -> str:
        return f"{self.source} → {self.target}:{self.port}"


@dataclass(frozen=True, slots=True)
class NetworkPeer:
    """A kind of pod, here or in another namespace. The labels of pods elsewhere are unknown."""

    name: str
    labels: Labels
    namespace: str
    ports: Mapping[str, int]
    """Named ports."""


Side: TypeAlias = str
"""`ingress` or `egress`."""


def everything_is_denied_by_default(cluster: Cluster) -> Iterator[str]:
    nothing = {"podSelector": {}, "policyTypes": ["Egress", "Ingress"]}
    for policy in cluster.of_kind("NetworkPolicy"):
        spec = policy["spec"] | {"policyTypes": sorted(policy["spec"].get("policyTypes", []))}
        if spec == nothing:
            return
    yield "there must be a NetworkPolicy for all pods and both directions that allows nothing"


def every_rule_names_peers_and_ports(cluster: Cluster) -> Iterator[str]:
    for policy in cluster.of_kind("NetworkPolicy"):
        for side, field in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(side) or []:
                yield from (f"{identity(policy)}, {side}: {what}" for what in _width(rule, field))
    for name, labels in cluster.pods.items():
        applying = [*_applying(cluster, "ingress", labels), *_applying(cluster, "egress", labels)]
        if not any(policy["spec"]["podSelector"] for policy in applying):
            yield f"{name}: has no NetworkPolicy of its own"


def _width(rule: Mapping[str, Any], field: str) -> Iterator[str]:
    ports = rule.get("ports") or []
    if not ports or not all("port" in port for port in ports):
        yield "a rule must name its ports"
    if not rule.get(field):
        yield f"a rule must say {field} whom"
    for peer in rule.get(field) or []:
        selectors = [peer[key] for key in ("podSelector", "namespaceSelector") if key in peer]
        if "ipBlock" in peer:
            numbers = {port.get("port") for port in ports}
            if is_wide(peer["ipBlock"]) and not (numbers <= _OUTWARD and _is_public(peer["ipBlock"])):
                yield (
                    f"{peer['ipBlock']['cidr']} is too wide: name the addresses, at most a /{_WIDEST_V4} (IPv6: /{_WIDEST_V6}) at a time;"
                    " only public addresses may be all of them, for the web, on 80 and 443, and mail, on 465 and 587"
                )
        elif not any(selectors):
            yield "an empty selector lets everybody through"


def is_wide(block: Mapping[str, Any]) -> bool:
    """Whether a block of addresses is so large that it restricts nothing."""
    cidr = ip_network(block["cidr"])
    return cidr.prefixlen < (_WIDEST_V4 if cidr.version == 4 else _WIDEST_V6)  # noqa: PLR2004 - its own name


def _is_public(block: Mapping[str, Any]) -> bool:
    """Whether a block of addresses leaves out what is private: nodes, pods, services, and what clouds tell their machines."""
    cidr = ip_network(block["cidr"])
    left_out = [ip_network(each) for each in block.get("except", [])]
    return all(
        not cidr.overlaps(private) or any(_covers(each, private) for each in left_out) for private in _PRIVATE
    )


def _covers(one: _Network, other: _Network) -> bool:
    return one.version == other.version and one.supernet_of(other)  # type: ignore[arg-type]


def only_what_is_needed_can_be_reached(cluster: Cluster) -> Iterator[str]:
    """Every pair of pods and every port is tried against the policies, and compared with what the system needs."""
    kinds = {name.partition("/")[2] for name in cluster.pods}
    if missing := {"rabbitmq", "postgres"} - kinds:
        yield f"there is nothing that runs {' and '.join(sorted(missing))}"
        return
    peers = [*_inside(cluster), *_outside(cluster)]
    ports = {
        *_ports_in_use(cluster),
        *_HTTP.values(),
        _METRICS,
        _AMQP,
        _MANAGEMENT,
        _POSTGRES,
        22,
        25,
        *_OUTWARD,
    }
    namespace = cluster.namespace
    open_ways = {
        NetworkPath(source.name, target.name, port)
        for source, target, port in product(peers, peers, ports)
        if namespace in {source.namespace, target.namespace} and _may_pass(cluster, source, target, port)
    }
    needed = set(_needed(cluster))
    yield from (f"{way} is open, and nobody needs it" for way in sorted(open_ways - needed))
    yield from (f"{way} is needed, and closed" for way in sorted(needed - open_ways))


def _needed(cluster: Cluster) -> Iterator[NetworkPath]:
    names = {peer.name for peer in _inside(cluster)}
    broker = next(name for name in names if name.endswith("/rabbitmq"))
    database = next(name for name in names if name.endswith("/postgres"))
    monitored = any(cluster.of_kind("ServiceMonitor"))
    encrypted = any("tls" in each["spec"] for each in cluster.of_kind("RabbitmqCluster"))
    for service in _HTTP:
        pod = f"Deployment/{service}"
        yield NetworkPath(pod, database, _POSTGRES)
        yield NetworkPath(f"Job/migrate-{service}", database, _POSTGRES)
        if monitored:
            yield NetworkPath("monitoring", pod, _METRICS)
        if endpoint := cluster.settings.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
            address = urlsplit(endpoint)
            yield NetworkPath(pod, str(address.hostname).split(".")[1], address.port or 4318)
    for reader, read in _READS:
        yield NetworkPath(f"Deployment/{reader}", f"Deployment/{read}", _HTTP[read])
    for controller, service in product(_INGRESS_CONTROLLERS, _behind_an_ingress(cluster)):
        yield NetworkPath(controller, f"Deployment/{service}", _HTTP[service])
    if monitored:
        yield NetworkPath("monitoring", broker, _of_tls(_BROKER_METRICS) if encrypted else _BROKER_METRICS)
    if any(cluster.of_kind("PodMonitor")):
        yield NetworkPath("monitoring", database, _POSTGRES_METRICS)
    if any(cluster.of_kind("ScaledObject")):
        yield NetworkPath("keda", broker, _of_tls(_MANAGEMENT) if encrypted else _MANAGEMENT)
    if "Job/topology" in names:
        yield NetworkPath("Job/topology", broker, _AMQP)
        yield NetworkPath("Job/topology", broker, _MANAGEMENT)
    yield from (NetworkPath(name, "kube-system", 53) for name in names)
    yield from _of_operators(cluster, broker, database)
    yield from _to_the_broker(broker, _of_tls(_AMQP) if encrypted else _AMQP)
    yield from _of_the_gateway()
    yield from _to_alerts(cluster)


def _to_alerts(cluster: Cluster) -> Iterator[NetworkPath]:
    """The monitor reads alerts from Prometheus and Alertmanager if the settings name them: services of another namespace."""
    for name in ("PROMETHEUS_URL", "ALERTMANAGER_URL"):
        if url := cluster.settings.get(name):
            address = urlsplit(url)
            yield NetworkPath("Deployment/monitor", str(address.hostname).split(".")[1], address.port or 80)


def _to_the_broker(broker: str, amqp: int) -> Iterator[NetworkPath]:
    yield from (
        NetworkPath(f"Deployment/{service}", broker, amqp)
        for service in _HTTP
        if service not in WITHOUT_MESSAGES
    )


def _of_the_gateway() -> Iterator[NetworkPath]:
    """It alone has a way out, since others could be made to use one."""
    yield from (NetworkPath(f"Deployment/{GATEWAY}", "elsewhere", port) for port in _OUTWARD)


def _of_tls(port: int) -> int:
    """Beside each port of the broker."""
    return port - 1


def _behind_an_ingress(cluster: Cluster) -> set[str]:
    """The services that an Ingress leads to."""
    return {
        path["backend"]["service"]["name"]
        for ingress in cluster.of_kind("Ingress")
        for _, path in ingress_paths(ingress)
    } & _HTTP.keys()


def _of_operators(cluster: Cluster, broker: str, database: str) -> Iterator[NetworkPath]:
    if broker.startswith("RabbitmqCluster/"):
        yield NetworkPath("rabbitmq-system", broker, _MANAGEMENT)
        yield from (NetworkPath(broker, broker, port) for port in _ERLANG)
        yield from _to_addresses(cluster, broker, _KUBERNETES, _API_SERVER)
    if database.startswith("Cluster/"):
        for port in (_POSTGRES, _POSTGRES_STATUS):
            yield NetworkPath("cnpg-system", database, port)
            yield NetworkPath(database, database, port)
        yield from _to_addresses(cluster, database, _KUBERNETES, _API_SERVER)
    for store in cluster.of_kind("ObjectStore"):
        yield from _to_addresses(cluster, database, _STORE, {_port_of_store(store)})


def _to_addresses(cluster: Cluster, source: str, what: str, ports: Iterable[int]) -> Iterator[NetworkPath]:
    """To all addresses that the policies of the source name for it; to a place that cannot be reached, if they name none."""
    networks = {
        peer["ipBlock"]["cidr"]
        for policy in _applying(cluster, "egress", cluster.pods[source])
        if policy["metadata"].get("labels", {}).get(LEADS_TO) == what
        for rule in policy["spec"].get("egress") or []
        for peer in rule.get("to") or []
        if "ipBlock" in peer
    }
    yield from (NetworkPath(source, target, port) for target in sorted(networks) or [what] for port in ports)


def _port_of_store(store: Resource) -> int:
    url = urlsplit(store["spec"]["configuration"].get("endpointURL", "https://"))
    return url.port or (80 if url.scheme == "http" else 443)


# -- what the policies say -------------------------------------------------------------------------------------------


def _may_pass(cluster: Cluster, source: NetworkPeer, target: NetworkPeer, port: int) -> bool:
    return _allows(cluster, "egress", source, target, port) and _allows(
        cluster, "ingress", target, source, port
    )


def _allows(cluster: Cluster, side: Side, owner: NetworkPeer, other: NetworkPeer, port: int) -> bool:
    """Whether the policies of `owner`'s side let it through. Nothing is known of policies elsewhere."""
    namespace = cluster.namespace
    if owner.namespace != namespace:
        return True
    policies = list(_applying(cluster, side, owner.labels))
    target = owner if side == "ingress" else other
    return not policies or any(
        _rule_allows(rule, "from" if side == "ingress" else "to", other, namespace, port, target)
        for policy in policies
        for rule in policy["spec"].get(side) or []
    )


def _applying(cluster: Cluster, side: Side, labels: Labels) -> Iterator[Mapping[str, Any]]:
    for policy in cluster.of_kind("NetworkPolicy"):
        spec = policy["spec"]
        if side.capitalize() in spec.get("policyTypes", ["Ingress"]) and selects(spec["podSelector"], labels):
            yield policy


def _rule_allows(
    rule: Mapping[str, Any], field: str, other: NetworkPeer, namespace: str, port: int, target: NetworkPeer
) -> bool:
    peers = rule.get(field)
    ports = rule.get("ports")
    return (not peers or any(_is_peer(peer, other, namespace) for peer in peers)) and (
        not ports or any(_is_port(each, port, target) for each in ports)
    )


def _is_peer(peer: Mapping[str, Any], other: NetworkPeer, namespace: str) -> bool:
    if "ipBlock" in peer:
        # Which addresses the pods of a cluster have is not known; those that are named are outside of all namespaces.
        block = peer["ipBlock"]
        return other.name == ("elsewhere" if is_wide(block) else block["cidr"])
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], {NAMESPACE_NAME: other.namespace}):
            return False
    elif other.namespace != namespace:
        return False
    # Pods elsewhere count as those that the policy means, or none could be told from another.
    return (
        "podSelector" not in peer
        or other.namespace != namespace
        or selects(peer["podSelector"], other.labels)
    )


def _is_port(wanted: Mapping[str, Any], port: int, target: NetworkPeer) -> bool:
    first = wanted.get("port")
    if first is None:
        return True
    if isinstance(first, str):
        return target.ports.get(first) == port
    return int(first) <= port <= int(wanted.get("endPort", first))


# -- who there is ----------------------------------------------------------------------------------------------------


def _inside(cluster: Cluster) -> Iterator[NetworkPeer]:
    named = {
        str(workload): {
            port["name"]: int(port["containerPort"])
            for container in workload.main_containers
            for port in container.get("ports", [])
            if "name" in port
        }
        for workload in cluster.workloads
    }
    for name, labels in cluster.pods.items():
        yield NetworkPeer(name, labels, cluster.namespace, named.get(name, {}))


def _outside(cluster: Cluster) -> Iterator[NetworkPeer]:
    """One pod in each namespace that a policy names, one in a namespace that none does, and one at each network that a policy names."""
    names = {"elsewhere"}
    for policy in cluster.of_kind("NetworkPolicy"):
        for side, field in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(side) or []:
                for peer in rule.get(field) or []:
                    names |= _namespaces_of(peer.get("namespaceSelector") or {})
                    if "ipBlock" in peer and not is_wide(peer["ipBlock"]):
                        names.add(peer["ipBlock"]["cidr"])
    return (NetworkPeer(name, {}, name, {}) for name in sorted(names))


def _namespaces_of(selector: Mapping[str, Any]) -> set[str]:
    named = {selector.get("matchLabels", {}).get(NAMESPACE_NAME)}
    for expression in selector.get("matchExpressions", []):
        if expression["key"] == NAMESPACE_NAME:
            named |= set(expression.get("values", []))
    return {name for name in named if name}


def _ports_in_use(cluster: Cluster) -> Iterator[int]:
    for policy in cluster.of_kind("NetworkPolicy"):
        for side in ("ingress", "egress"):
            for rule in policy["spec"].get(side) or []:
                for port in rule.get("ports") or []:
                    numbers = (port.get("port"), port.get("endPort"))
                    yield from (number for number in numbers if isinstance(number, int))
