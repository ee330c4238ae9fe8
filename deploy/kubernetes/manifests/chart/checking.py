"""Checks what the chart renders, by the same rules as overlays and against kustomize."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from manifests import policies, schemas
from manifests.chart import building
from manifests.chart.choices import DEFAULTS
from manifests.chart.comparing import differences
from manifests.cluster import Cluster
from manifests.rendering import HOME, render_chart

Resource = dict[str, Any]


def rendered(values: Mapping[str, Any]) -> list[Resource]:
    """What the chart makes with these values, in the namespace that it is installed into.

    Raises:
        RenderingError: the values are refused, or helm is missing.
    """
    namespace = yaml.safe_load((HOME / "overlays/prod/namespace.yaml").read_text())
    # As its overlay labels it.
    namespace["metadata"]["labels"]["app.kubernetes.io/part-of"] = "brand-engine"
    namespace["metadata"]["annotations"] = {
        "argocd.argoproj.io/sync-wave": "-3",
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    }
    return [namespace, *render_chart(values)]


def problems(resources: list[Resource], size: str) -> Iterator[str]:
    """What is wrong with the chart's resources of a size that base and components have, too."""
    broken = list(schemas.problems(resources))
    yield from broken or policies.problems(Cluster(f"chart, size {size}", resources))
    component = () if size == "M" else (f"size-{size.lower()}",)
    yield from differences(resources, building.render_choices([DEFAULTS], component)[0])
