"""Secrets in the namespace, and the keys in them that custom resources name."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from envelope.brand import DEPLOYED, PAIRS, SERVICES
from manifests.cluster import Cluster

SECRETS: Final[Mapping[str, frozenset[str]]] = {
    "service-key": frozenset({"service-key"}),
    "service-key-hash": frozenset({"service-key-hash"}),
    **{"-to-".join(pair): frozenset({"service-key"}) for pair in PAIRS},
    "gateway-keys": frozenset({"keys"}),
    "keda-broker": frozenset({"username", "password", "host", "host-tls", "tls"}),
    "rabbitmq-administrator": frozenset({"username", "password"}),
    "postgres-administrator": frozenset({"username", "password"}),
    **{f"{service}-broker": frozenset({"username", "password"}) for service in SERVICES},
    **{f"{service}-database": frozenset({"username", "password"}) for service in DEPLOYED},
    **{f"{service}-runtime": frozenset({"username", "password"}) for service in DEPLOYED},
}
"""Name → keys of the secrets that `secrets.sh` makes."""

GIVEN_SECRETS: Final[Mapping[str, frozenset[str]]] = {
    "backup-store": frozenset({"ACCESS_KEY_ID", "ACCESS_SECRET_KEY"}),
    "registry": frozenset({".dockerconfigjson"}),
}
"""Those that only somebody who knows them can make; `secrets.sh` says how."""

OPTIONAL_SECRETS: Final[Mapping[str, frozenset[str]]] = {
    "oidc-client": frozenset({"secret"}),
    "publisher-replica": frozenset({"url"}),
}
"""Those that only some installations have; a pod starts without them."""

_CERTIFICATE: Final = frozenset({"ca.crt", "tls.crt", "tls.key"})


def made(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """Name → keys of all the secrets that there will be, those of operators included."""
    certified = {str(each["spec"]["secretName"]): _CERTIFICATE for each in cluster.of_kind("Certificate")}
    authorities = {f"{each['metadata']['name']}-ca": _CERTIFICATE for each in cluster.of_kind("Cluster")}
    return {**SECRETS, **GIVEN_SECRETS, **OPTIONAL_SECRETS, **certified, **authorities}


def needed(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and key of every secret that a custom resource names."""
    match kind:
        case "TriggerAuthentication":
            yield from ((each["name"], each["key"]) for each in spec["secretTargetRef"])
        case "User":
            yield spec["importCredentialsSecret"]["name"], "password"
        case "Cluster":
            roles = spec.get("managed", {}).get("roles", [])
            yield from ((role["passwordSecret"]["name"], "password") for role in roles)
        case "ObjectStore":
            given = spec["configuration"].get("s3Credentials", {}).values()
            yield from ((each["name"], each["key"]) for each in given)
        case "Issuer" if "ca" in spec:
            yield spec["ca"]["secretName"], "tls.key"
        case "RabbitmqCluster" if "tls" in spec:
            yield spec["tls"]["secretName"], "tls.key"
        case "ServiceMonitor":
            authorities = [
                each["tlsConfig"]["ca"]["secret"] for each in spec["endpoints"] if "tlsConfig" in each
            ]
            yield from ((each["name"], each["key"]) for each in authorities)
