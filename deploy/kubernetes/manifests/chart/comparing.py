"""Whether the chart says the same as kustomize."""

import copy
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml

from manifests.chart.parameters import in_order

Resource = dict[str, Any]

_SETTINGS: Final = re.compile(r"^settings-[a-z0-9]{10}$")
_OF_HELM: Final = "helm.sh/"
_LINES: Final = 20


def differences(chart: Sequence[Resource], overlay: Sequence[Resource]) -> Iterator[str]:
    """What is not the same, a few lines for each resource.

    Three things differ on purpose: a chart does not make the namespace that it is installed into, settings are called
    after another digest of their content, and Helm is told which resources to keep.
    """
    ours, theirs = _by_identity(chart), _by_identity(overlay)
    for kind, name in ours.keys() - theirs.keys():
        yield f"{kind}/{name}: only the chart has it"
    for kind, name in theirs.keys() - ours.keys():
        yield f"{kind}/{name}: only the overlay has it"
    for kind, name in sorted(ours.keys() & theirs.keys()):
        if ours[kind, name] != theirs[kind, name]:
            yield f"{kind}/{name}:\n{_difference(theirs[kind, name], ours[kind, name])}"


def _by_identity(resources: Sequence[Resource]) -> dict[tuple[str, str], Resource]:
    plain = [_plain(copy.deepcopy(each)) for each in resources if each["kind"] != "Namespace"]
    found = {(each["kind"], each["metadata"]["name"]): each for each in plain}
    if len(found) < len(plain):
        raise ValueError("two resources have the same kind and name")
    return found


def _plain(resource: Resource) -> Resource:
    annotations = resource["metadata"].get("annotations", {})
    for name in [each for each in annotations if each.startswith(_OF_HELM)]:
        del annotations[name]
    plain: Resource = _normal(resource)
    return plain


def _normal(value: Any) -> Any:
    match value:
        case dict():
            return {key: _normal(in_order(key, each)) for key, each in value.items()}
        case list():
            return [_normal(each) for each in value]
        case str():
            return _SETTINGS.sub("settings", value)
        case _:
            return value


def _difference(old: Resource, new: Resource) -> str:
    lines = difflib.unified_diff(
        yaml.safe_dump(old).splitlines(),
        yaml.safe_dump(new).splitlines(),
        "overlay",
        "chart",
        lineterm="",
        n=2,
    )
    return "\n".join(list(lines)[:_LINES])
