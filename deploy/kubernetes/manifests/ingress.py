"""Rules about public routes: those of publisher and social, the API below `/v1` and the console if an Ingress has them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from manifests.cluster import Cluster, Resource, identity
from manifests.public_routes import public_routes

INSIDE_PATHS: Final = (
    "/metrics",
    "/health",
    "/health/live",
    "/health/ready",
    "/docs",
    "/redoc",
    "/openapi.json",
)
"""Answered without a key, and therefore for the inside alone."""

_PUBLIC: Final = ("publisher", "social")
_API: Final = "orchestrator"
_API_PATH: Final = "/v1"
"""Every route below it asks for the service key."""
_HOOKS: Final = ("events", "/v1/hooks")
"""Every path below it asks for the proof of an incoming webhook."""
_CONSOLE: Final = "console"
_CONSOLE_URL: Final = "CONSOLE_URL"
_ISSUERS: Final = frozenset({"cert-manager.io/cluster-issuer", "cert-manager.io/issuer"})


def the_outside_sees_only_what_is_meant_for_it(cluster: Cluster) -> Iterator[str]:
    for ingress in cluster.of_kind("Ingress"):
        yield from (f"{identity(ingress)}: {what}" for what in _of_ingress(ingress))
        for host, path in ingress_paths(ingress):
            if not _is_own_host(cluster, host, path) and not _is_console(cluster, host, path):
                yield from (f"{identity(ingress)}: {what}" for what in _of_path(path))
    if any(cluster.of_kind("Ingress")):
        for service in _PUBLIC:
            yield from _of_public_url(cluster, service, _public_url(service))
            yield from _of_routes(cluster, service)
    if any(_leads_to_console(path) for each in cluster.of_kind("Ingress") for _, path in ingress_paths(each)):
        yield from _of_public_url(cluster, _CONSOLE, _CONSOLE_URL)


def _of_ingress(ingress: Resource) -> Iterator[str]:
    if not ingress["spec"].get("ingressClassName"):
        yield "ingressClassName is missing: which controller takes it is left to chance"
    if "defaultBackend" in ingress["spec"]:
        yield "a defaultBackend would be reached by every path"
    if ingress["spec"].get("tls") and not _ISSUERS & ingress["metadata"].get("annotations", {}).keys():
        yield f"nobody issues its certificate: {' or '.join(sorted(_ISSUERS))} is missing"


def _of_path(path: Mapping[str, Any]) -> Iterator[str]:
    service = path["backend"]["service"]["name"]
    if service == _HOOKS[0]:
        if path.get("path") != _HOOKS[1]:
            yield f"{path.get('path')} of {service} is not {_HOOKS[1]}, which alone is for the outside"
    elif service not in {*_PUBLIC, _API}:
        yield f"{service} is not for the outside"
    if service == _API and not f"{path.get('path')}/".startswith(f"{_API_PATH}/"):
        yield f"{path.get('path')} of {_API} is not below {_API_PATH}"
    if reached := [inside for inside in INSIDE_PATHS if _reaches(path, inside)]:
        yield f"{path.get('path')} lets {', '.join(reached)} out"


def _is_own_host(cluster: Cluster, host: str | None, path: Mapping[str, Any]) -> bool:
    """Whether the host belongs to one brand's site: the publisher serves only that site there, on all paths."""
    common = {urlsplit(cluster.settings.get(_public_url(service), "")).hostname for service in _PUBLIC}
    return (
        path["backend"]["service"]["name"] == "publisher"
        and (path.get("path"), path.get("pathType")) == ("/", "Prefix")
        and host is not None
        and "*" not in host
        and host not in common
    )


def _is_console(cluster: Cluster, host: str | None, path: Mapping[str, Any]) -> bool:
    """Whether the path is the console under its own host, where every page asks who is signed in."""
    return (
        _leads_to_console(path)
        and (path.get("path"), path.get("pathType")) == ("/", "Prefix")
        and host == urlsplit(cluster.settings.get(_CONSOLE_URL, "")).hostname
    )


def _leads_to_console(path: Mapping[str, Any]) -> bool:
    return bool(path["backend"]["service"]["name"] == _CONSOLE)


def _public_url(service: str) -> str:
    """The setting that names the public address of the service."""
    return f"{service.upper()}_PUBLIC_URL"


def _of_routes(cluster: Cluster, service: str) -> Iterator[str]:
    """Compares what the service has for visitors with the paths that lead to it under its public host, in both directions."""
    host = urlsplit(cluster.settings.get(_public_url(service), "")).hostname
    paths = [
        path
        for ingress in cluster.of_kind("Ingress")
        for of, path in ingress_paths(ingress)
        if of == host and path["backend"]["service"]["name"] == service
    ]
    routes = public_routes(service)
    for route, example in routes.items():
        if not any(_reaches(path, example) for path in paths):
            yield f"no Ingress takes {route} under {host} to {service}"
    for path in paths:
        if not any(_reaches(path, example) for example in routes.values()):
            yield f"{path.get('path')} under {host} leads to no page of {service}"


def _of_public_url(cluster: Cluster, service: str, variable: str) -> Iterator[str]:
    """The links that a service writes must lead to it."""
    url = urlsplit(cluster.settings.get(variable, ""))
    taken = {
        (host, path["backend"]["service"]["name"])
        for ingress in cluster.of_kind("Ingress")
        for host, path in ingress_paths(ingress)
    }
    encrypted = {
        host
        for ingress in cluster.of_kind("Ingress")
        for each in ingress["spec"].get("tls", [])
        for host in each.get("hosts", [])
    }
    if (url.hostname, service) not in taken:
        yield f"{variable}: no Ingress takes {url.hostname} to {service}"
    if url.scheme == "https" and url.hostname not in encrypted:
        yield f"{variable}: is https, and no Ingress has a certificate for {url.hostname}"


def ingress_paths(ingress: Resource) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Host and path of every line of an Ingress."""
    for rule in ingress["spec"].get("rules", []):
        yield from ((rule.get("host"), path) for path in rule.get("http", {}).get("paths", []))


def _reaches(path: Mapping[str, Any], inside: str) -> bool:
    prefix = str(path.get("path", "/"))
    match path.get("pathType"):
        case "Exact":
            return prefix == inside
        case "Prefix":
            return f"{inside}/".startswith(f"{prefix.rstrip('/')}/")
        case _:
            # What else there is depends on the controller: plain prefixes at worst.
            return inside.startswith(prefix)
