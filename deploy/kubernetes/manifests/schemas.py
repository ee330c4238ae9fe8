"""Whether each resource is what its API takes: Kubernetes' own by its published schemas, others by those beside this file.

The schemas beside this file describe the parts of custom resources that are in use here, and refuse all else: a field
that is misspelt would otherwise be dropped by the cluster without a word. They say more than the operators' own definitions,
which leave much to be any string; those are asked, too, where they are at hand (`definitions`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import kubernetes_validate.utils  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from manifests import definitions
from manifests.cluster import Resource, identity

OLDEST: Final = "1.32"
VERSIONS: Final = (OLDEST, "1.37")
"""The oldest Kubernetes supported, and the newest there are schemas of."""
FOLDER: Final = Path(__file__).parent / "schemas"
_OWN_GROUPS: Final = (".k8s.io",)

# It would read all definitions of a version, some megabytes, again for each resource: nine tenths of the time of a validation.
kubernetes_validate.utils.schema_contents = cache(kubernetes_validate.utils.schema_contents)


def problems(resources: Iterable[Resource]) -> Iterator[str]:
    """Yields the problems, a line each."""
    seen: set[tuple[str, ...]] = set()
    for resource in resources:
        metadata = resource.get("metadata") or {}
        if not (resource.get("apiVersion") and resource.get("kind") and metadata.get("name")):
            yield f"a resource without apiVersion, kind or name: {json.dumps(resource)[:200]}"
            continue
        key = (resource["apiVersion"], resource["kind"], str(metadata.get("namespace")), metadata["name"])
        if key in seen:
            yield f"{identity(resource)}: is there twice"
        seen.add(key)
        yield from (f"{identity(resource)}: {what}" for what in _of_one(resource))


def _of_one(resource: Resource) -> Iterator[str]:
    if _is_builtin(resource["apiVersion"]):
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(resource, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                where = ".".join(str(part) for part in error.path)
                yield f"Kubernetes {version}: {where}: {error.message}"
            except kubernetes_validate.SchemaNotFoundError:
                yield f"Kubernetes {version} has no {resource['apiVersion']} {resource['kind']}"
        return
    validator = _validators().get((resource["apiVersion"], resource["kind"]))
    yield from definitions.problems(resource)
    if validator is None:
        yield f"there is no schema of {resource['apiVersion']} {resource['kind']}: write one beside the others"
    elif worst := best_match(validator.iter_errors(resource)):
        yield f"{worst.json_path}: {worst.message}"


def _is_builtin(api_version: str) -> bool:
    """Whether a group is Kubernetes' own: without a dot, or with the reserved ending `.k8s.io`."""
    group = api_version.rpartition("/")[0]
    return "." not in group or group.endswith(_OWN_GROUPS)


@cache
def _validators() -> Mapping[tuple[str, str], Draft202012Validator]:
    """API version and kind → validator of a whole resource."""
    shared = json.loads((FOLDER / "definitions.json").read_text())["$defs"]
    found = {}
    for path in sorted(FOLDER.glob("*_*.json")):
        schema: dict[str, Any] = json.loads(path.read_text())
        properties = schema["properties"]
        schema["$defs"] = shared
        Draft202012Validator.check_schema(schema)
        found[properties["apiVersion"]["const"], properties["kind"]["const"]] = Draft202012Validator(schema)
    return found
