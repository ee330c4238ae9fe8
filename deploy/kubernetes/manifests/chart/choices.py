"""What an installation of the chart may choose, and the overlay that has the same choice made with kustomize."""

import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from manifests.rendering import HOME

Choice = Mapping[str, str]
"""Name of a choice → the option taken. Those that are on or off have the options `on` and `off`."""

ON, OFF = "on", "off"


@dataclass(frozen=True, slots=True)
class Option:
    """One choice: the value of the chart, and what may be chosen. The first option is the default."""

    value: str
    options: tuple[str, ...] = (ON, OFF)

    def condition(self, option: str) -> str:
        """When this option is taken, in the language of templates."""
        if option == ON:
            return self.value
        return f"not {self.value}" if option == OFF else f'eq {self.value} "{option}"'


OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {
        "broker": Option(".Values.broker.kind", ("operator", "plain", "existing")),
        "database": Option(".Values.database.kind", ("operator", "plain", "existing")),
        "backups": Option(".Values.database.backups.enabled"),
        "autoscaling": Option(".Values.autoscaling.enabled"),
        "monitoring": Option(".Values.monitoring.enabled"),
        "tracing": Option(".Values.tracing.enabled"),
        "sites": Option(".Values.ingress.sites.enabled"),
        "console": Option(".Values.ingress.console.enabled"),
        "certificates": Option(".Values.ingress.issuer"),
        "registry": Option(".Values.images.pullSecret"),
        "api": Option(".Values.ingress.api.enabled", (OFF, ON)),
        "folder": Option(".Values.publishFolder.enabled", (OFF, ON)),
        "documents": Option(".Values.documents.kind", ("claim", "samples")),
    }
)
DEFAULTS: Final[dict[str, str]] = {name: option.options[0] for name, option in OPTIONS.items()}
"""As `overlays/prod` has them."""
DEV: Final[Choice] = DEFAULTS | {
    "broker": "plain",
    "database": "plain",
    "backups": OFF,
    "tracing": OFF,
    "certificates": OFF,
    "registry": OFF,
    "api": ON,
    "documents": "samples",
}
"""As `overlays/dev` has them."""

_INTERACTING: Final = ("broker", "database", "autoscaling", "monitoring")
"""Components of these change what others of them bring."""


def sampled() -> Iterator[Choice]:
    """The choices that the templates are made from: those that interact in all ways, the others with each kind of server."""
    every = [OPTIONS[name].options for name in _INTERACTING]
    for options in itertools.product(*every):
        yield DEFAULTS | dict(zip(_INTERACTING, options, strict=True))
    for kind in ("operator", "plain"):
        for name in OPTIONS.keys() - set(_INTERACTING):
            yield DEFAULTS | {"broker": kind, "database": kind, name: OPTIONS[name].options[1]}
    # The ingress that is not there by default has no certificate either.
    yield DEFAULTS | {"api": ON, "certificates": OFF}


def write_overlay(folder: Path, choice: Choice, more: tuple[str, ...] = ()) -> None:
    """Writes the overlay that makes this choice. `more` are further components, the last before the order."""
    release = HOME / "overlays/prod/release/kustomization.yaml"
    (folder / "release").mkdir(parents=True)
    shutil.copy(release, folder / "release")
    shutil.copy(HOME / "overlays/prod/corpus.yaml", folder)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(_kustomization(folder, choice, more)))


def _kustomization(folder: Path, choice: Choice, more: tuple[str, ...]) -> dict[str, Any]:
    def below(*parts: str) -> str:
        return os.path.relpath(HOME.joinpath(*parts), folder.resolve())

    resources = [below("base")]
    plain = "plain" in {choice["broker"], choice["database"]}
    resources += [below("..", "compose")] * plain
    resources.append("corpus.yaml" if choice["documents"] == "claim" else below("..", "demo"))
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "brand-engine",
        "resources": resources,
        "components": [
            *(below("components", name) for name in _components(choice)),
            *(below("components", name) for name in more),
            below("components", "order"),
            "release",
        ],
        "labels": [{"pairs": {"app.kubernetes.io/part-of": "brand-engine"}, "includeTemplates": True}],
        "configMapGenerator": [
            {"name": "settings", "behavior": "merge", "literals": list(_addresses(choice))}
        ],
        "images": [{"name": "rabbitmq", "newTag": "4-management"}, {"name": "postgres", "newTag": "17"}],
        "patches": list(_patches(choice)),
    }


def _components(choice: Choice) -> Iterator[str]:
    """In the order of `overlays/prod`, which some of them depend on."""
    operated = choice["database"] == "operator"
    if choice["broker"] != "existing":
        yield {"operator": "broker-operator", "plain": "broker-dev"}[choice["broker"]]
    yield {"operator": "database-operator", "plain": "database-dev", "existing": "database-existing"}[
        choice["database"]
    ]
    wanted = {
        "database-backups": operated and choice["backups"] == ON,
        "database-monitoring": operated and choice["monitoring"] == ON,
        "autoscaling": choice["autoscaling"] == ON,
        "replicas": choice["autoscaling"] == OFF,
        "ingress": choice["sites"] == ON,
        "ingress-console": choice["console"] == ON,
        "ingress-api": choice["api"] == ON,
        "monitoring": choice["monitoring"] == ON,
        "tracing": choice["tracing"] == ON,
        "broker-encryption": choice["broker"] == "operator",
        "broker-existing": choice["broker"] == "existing",
        "publish-folder": choice["folder"] == ON,
    }
    yield from (name for name, is_wanted in wanted.items() if is_wanted)
    if "operator" in {choice["broker"], choice["database"]}:
        yield "priorities"


HOSTS: Final = MappingProxyType(
    {"sites": "sites.example.com", "feeds": "feeds.example.com", "console": "console.example.com"}
)
"""Ingress → its host in `overlays/prod`."""
API_HOST: Final = "api.example.com"


def _addresses(choice: Choice) -> Iterator[str]:
    scheme = "https" if choice["certificates"] == ON else "http"
    yield f"PUBLISHER_PUBLIC_URL={scheme}://{HOSTS['sites']}"
    yield f"SOCIAL_PUBLIC_URL={scheme}://{HOSTS['feeds']}"
    yield f"CONSOLE_URL={scheme}://{HOSTS['console']}"


def _patches(choice: Choice) -> Iterator[dict[str, Any]]:
    for name, host in (HOSTS | {"api": API_HOST}).items():
        operations: list[dict[str, Any]] = [{"op": "replace", "path": "/spec/rules/0/host", "value": host}]
        if choice["certificates"] == ON:
            issuer = "/metadata/annotations/cert-manager.io~1cluster-issuer"
            tls = [{"hosts": [host], "secretName": f"{name}-tls"}]
            operations.append({"op": "add", "path": "/spec/tls", "value": tls})
            operations.append({"op": "add", "path": issuer, "value": "letsencrypt"})
        yield {"target": {"kind": "Ingress", "name": name}, "patch": yaml.safe_dump(operations)}
    if choice["registry"] == ON:
        secrets = [{"op": "add", "path": "/imagePullSecrets", "value": [{"name": "registry"}]}]
        yield {"target": {"kind": "ServiceAccount"}, "patch": yaml.safe_dump(secrets)}
    if choice["documents"] == "samples":
        samples = {"name": "corpus", "persistentVolumeClaim": None, "configMap": {"name": "corpus"}}
        patch = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "research"},
            "spec": {"template": {"spec": {"volumes": [samples]}}},
        }
        yield {"target": {"kind": "Deployment", "name": "research"}, "patch": yaml.safe_dump(patch)}
