"""`python -m manifests validate [OVERLAY ...]`, `… generate` and `… definitions [CHECKOUTS]`."""

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from manifests import definitions, generation, policies, schemas
from manifests.chart import building, checking
from manifests.cluster import Cluster
from manifests.rendering import ALERTMANAGER, HOME, OVERLAYS, RenderingError, render


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m manifests", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    validate = commands.add_parser(
        "validate", help="render overlays and the chart, and check all that comes out"
    )
    validate.add_argument("overlays", nargs="*", type=Path, metavar="OVERLAY")
    commands.add_parser(
        "generate", help="renew what is made from the topology, the permissions and the alerts"
    )
    getting = commands.add_parser(
        "definitions", help="get the operators' own definitions of custom resources"
    )
    getting.add_argument("checkouts", nargs="?", type=Path, help="a folder with their repositories")
    arguments = parser.parse_args()
    if arguments.command == "definitions":
        _get_definitions(arguments.checkouts)
        return
    if arguments.command == "generate":
        for path in [*generation.write(), *building.write_files()]:
            sys.stdout.write(f"{path.relative_to(HOME)}\n")
        return
    if unseen := definitions.missing():
        operators = sorted({f"{each.operator} {each.version}" for each in unseen})
        sys.stdout.write(
            "custom resources are checked against the project's own schemas alone: the definitions of "
            f"{', '.join(operators)} are not here; deploy/kubernetes/definitions.sh gets them\n"
        )
    # All of them, not the first that fails: one run should tell everything.
    valid = [_validate(overlay) for overlay in arguments.overlays or (*OVERLAYS, ALERTMANAGER)]
    if not arguments.overlays:
        valid += [_validate_chart(size) for size in _sizes()]
    if not all(valid):
        sys.exit(1)


def _get_definitions(checkouts: Path | None) -> None:
    try:
        definitions.get(definitions.published(), checkouts)
    except definitions.DefinitionError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{len(definitions.published())} definitions are in {definitions.FOLDER}\n")


def _sizes() -> tuple[str, ...]:
    if os.environ.get("HELM") or shutil.which("helm"):
        return ("S", "M", "L")
    sys.stdout.write("the chart is not checked: there is no helm here (deploy/kubernetes/install-helm.sh)\n")
    return ()


def _validate(overlay: Path) -> bool:
    try:
        resources = render(overlay)
    except RenderingError as error:
        return _report(overlay.name, resources=[], problems=[f"cannot be rendered\n  {error}"])
    # The rules may then take for granted that everything has the shape that it must have.
    cluster = Cluster(overlay.name, resources)
    return _report(
        overlay.name, resources, list(schemas.problems(resources)) or list(policies.problems(cluster))
    )


def _validate_chart(size: str) -> bool:
    name = f"chart, size {size}"
    try:
        resources = checking.rendered({"size": size})
    except RenderingError as error:
        return _report(name, resources=[], problems=[f"cannot be rendered\n  {error}"])
    return _report(name, resources, list(checking.problems(resources, size)))


def _report(name: str, resources: list[dict[str, Any]], problems: list[str]) -> bool:
    for problem in problems:
        sys.stderr.write(f"{name}: {problem}\n")
    if not problems:
        rules = len(policies.policies_for(Cluster(name, resources)))
        sys.stdout.write(
            f"{name}: {len(resources)} resources are valid for Kubernetes {' and '.join(schemas.VERSIONS)} "
            f"and keep {rules} rules\n"
        )
    return not problems


main()
