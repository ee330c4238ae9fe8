"""Builds the files of the chart: templates from renderings, figures of the sizes, and the version."""

import json
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import yaml

from manifests import sizes
from manifests.chart import values_schema
from manifests.chart.choices import DEFAULTS, Choice, sampled, write_overlay
from manifests.chart.parameters import parametrise
from manifests.chart.templating import text, tree, write
from manifests.chart.variants import Branch, Leaf, MapNode, Merger, Node
from manifests.order import KEPT
from manifests.rendering import CHART, HOME, render

_ROOT: Final = HOME.parents[1]
_MARK: Final = "# Made from manifests/sizes.py, base and components; change it there, then: make schemas\n"
_HEAD: Final = "{{- /* Made from base and components; change it there, then: make schemas */ -}}\n"
_SIZE: Final = "{{- $size := index .Values.sizes .Values.size }}\n"
_ON_UPGRADE: Final = "and .Release.IsUpgrade .Values.migrations.beforeUpgrade"
_AT_ONCE: Final = 2

Resource = dict[str, Any]


def files() -> dict[Path, str]:
    """Path → what should be in it. Renders some fifty overlays, which takes a minute."""
    choices = list(sampled())
    rendered = [[parametrise(each) for each in resources] for resources in render_choices(choices)]
    merger = Merger(choices)
    merged = dict(_merged(merger, rendered))
    made = {f"templates/{kind.lower()}.yaml": content for kind, content in _templates(merged)}
    made["templates/_settings.tpl"] = _settings(merged)
    made["Chart.yaml"] = _chart()
    made["values.yaml"] = _values()
    made["values.schema.json"] = json.dumps(values_schema.schema(), indent=2) + "\n"
    return {CHART / name: content for name, content in made.items()}


def write_files() -> list[Path]:
    """Renews the files; returns those that were not as they should be."""
    changed = []
    wanted = files()
    for path, content in wanted.items():
        if not path.exists() or path.read_text() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            changed.append(path)
    for path in left_over(wanted):
        path.unlink()
        changed.append(path)
    return changed


def left_over(wanted: Iterable[Path]) -> list[Path]:
    """Templates that were made once, and of which no resource is left."""
    made = (path for path in sorted((CHART / "templates").glob("*")) if path.read_text().startswith(_HEAD))
    return [path for path in made if path not in set(wanted)]


def render_choices(choices: Iterable[Choice], more: tuple[str, ...] = ()) -> list[list[Resource]]:
    """What kustomize makes of each choice, two at a time."""

    def rendered(choice: Choice) -> list[Resource]:
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=_work_folder()) as folder:
            overlay = Path(folder) / "overlay"
            write_overlay(overlay, choice, more)
            return render(overlay)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(rendered, choices))


def _work_folder() -> Path:
    folder = _ROOT / ".local"
    folder.mkdir(exist_ok=True)
    return folder


def _merged(merger: Merger, rendered: list[list[Resource]]) -> Iterator[tuple[tuple[str, str], Branch]]:
    objects: dict[tuple[str, str], dict[int, Resource]] = {}
    for case, resources in enumerate(rendered):
        for resource in resources:
            identity = resource["kind"], resource["metadata"]["name"]
            objects.setdefault(identity, {})[case] = resource
    everywhere = range(len(rendered))
    for (kind, name), variants in objects.items():
        where = f"{kind}/{name}"
        condition = merger.condition(variants, everywhere, where)
        yield (kind, name), Branch(condition, merger.merge(variants, where), name)


def _templates(merged: Mapping[tuple[str, str], Branch]) -> Iterator[tuple[str, str]]:
    by_kind: dict[str, list[str]] = {}
    for (kind, name), branch in sorted(merged.items()):
        node = _with_annotations(branch.node, kind, name)
        if (kind, name) == _SETTINGS_IDENTITY:
            node = _without_data(node)
        document = f"---\n{write(node)}"
        if branch.condition is not None:
            document = f"{{{{- if {branch.condition} }}}}\n{document}{{{{- end }}}}\n"
        by_kind.setdefault(kind, []).append(document)
    for kind, documents in by_kind.items():
        content = "".join(documents)
        yield kind, _HEAD + (_SIZE if "$size." in content else "") + content


_SETTINGS_IDENTITY: Final = ("ConfigMap", text('include "brand-engine.settings-name" .'))


def _with_annotations(node: Node, kind: str, name: str) -> Node:
    """With what Helm is to know: what outlives a release, and what runs before an update of the services."""
    annotations: dict[str, tuple[str | None, str]] = {}
    if kind in KEPT or (kind, name) == _SETTINGS_IDENTITY:
        # Also settings of earlier releases: replicas of those may start again until the new ones are there.
        annotations["helm.sh/resource-policy"] = None, "keep"
    if kind == "Job":
        annotations["helm.sh/hook"] = _ON_UPGRADE, "pre-upgrade"
        annotations["helm.sh/hook-weight"] = _ON_UPGRADE, "-1" if name.startswith("topology-") else "0"
        annotations["helm.sh/hook-delete-policy"] = _ON_UPGRADE, "before-hook-creation"
    more = tuple(Branch(condition, Leaf(value), key) for key, (condition, value) in annotations.items())
    return _extended(node, ("metadata", "annotations"), more) if more else node


def _extended(node: Node, path: tuple[str, ...], more: tuple[Branch, ...]) -> Node:
    if not isinstance(node, MapNode):
        raise TypeError("annotations of a resource are in no mapping")
    if not path:
        return MapNode(node.branches + more)
    return MapNode(
        tuple(
            Branch(each.condition, _extended(each.node, path[1:], more), each.key)
            if each.key == path[0]
            else each
            for each in node.branches
        )
    )


def _without_data(node: Node) -> Node:
    if not isinstance(node, MapNode):
        raise TypeError("settings are no mapping")
    named = Leaf(tree('include "brand-engine.settings" . | fromYaml'))
    return MapNode(
        tuple(Branch(None, named, "data") if each.key == "data" else each for each in node.branches)
    )


def _settings(merged: Mapping[tuple[str, str], Branch]) -> str:
    node = merged[_SETTINGS_IDENTITY].node
    if not isinstance(node, MapNode):
        raise TypeError("settings are no mapping")
    (data,) = (each.node for each in node.branches if each.key == "data")
    return f'{_HEAD}{{{{- define "brand-engine.own-settings" }}}}\n{_SIZE}{write(data)}{{{{- end }}}}\n'


def _chart() -> str:
    version = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]
    described = {
        "apiVersion": "v2",
        "name": "brand-engine",
        "description": "From a keyword to an article, its page and the posts about it",
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.32.0-0",
    }
    return "# Made from pyproject.toml; change it there, then: make schemas\n" + yaml.safe_dump(
        described, sort_keys=False, width=110
    )


def _values() -> str:
    """The values that people wrote, and the figures of the sizes below them."""
    written = (CHART / "values.yaml").read_text().partition(_MARK)[0]
    figures = {"M": figures_of(render_choices([DEFAULTS])[0])}
    for name in sizes.SIZES:
        component = f"size-{name.lower()}"
        figures[name] = figures_of(render_choices([DEFAULTS], (component,))[0])
    ordered = {name: figures[name] for name in ("S", "M", "L")}
    return written + _MARK + yaml.dump({"sizes": ordered}, Dumper=_Dumper, sort_keys=False, width=110)


class _Dumper(yaml.SafeDumper):
    """Writes each figure out, even if two sizes share it."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def figures_of(resources: list[Resource]) -> dict[str, Any]:
    """The figures of a rendered overlay whose servers are run by operators."""
    found = {(each["kind"], each["metadata"]["name"]): each for each in resources}
    database = found["Cluster", "postgres"]["spec"]
    broker = found["RabbitmqCluster", "rabbitmq"]["spec"]
    (settings,) = (each["data"] for (kind, name), each in found.items() if name.startswith("settings-"))
    parameters = database["postgresql"]["parameters"]
    return {
        "connectionsPerReplica": int(settings["DATABASE_CONNECTIONS"]),
        "services": {
            name: {
                "minReplicas": scaled["spec"]["minReplicaCount"],
                "maxReplicas": scaled["spec"]["maxReplicaCount"],
                "resources": found["Deployment", name]["spec"]["template"]["spec"]["containers"][0][
                    "resources"
                ],
            }
            for (kind, name), scaled in found.items()
            if kind == "ScaledObject"
        },
        "database": {
            "connections": int(parameters["max_connections"]),
            "sharedBuffers": parameters["shared_buffers"],
            "storage": database["storage"]["size"],
            "logStorage": database["walStorage"]["size"],
            "resources": database["resources"],
        },
        "broker": {"storage": broker["persistence"]["storage"], "resources": broker["resources"]},
    }
