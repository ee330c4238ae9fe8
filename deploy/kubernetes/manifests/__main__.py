"""`python -m manifests validate [OVERLAY ...]`, `… generate` and `… definitions [CHECKOUTS]`."""

import argparse
import sys
from pathlib import Path

from manifests import definitions, generation, policies, schemas
from manifests.cluster import Cluster
from manifests.rendering import ALERTMANAGER, HOME, OVERLAYS, RenderingError, render


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m manifests", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    validate = commands.add_parser("validate", help="render overlays and check all that comes out")
    validate.add_argument(
        "overlays", nargs="*", type=Path, default=[*OVERLAYS, ALERTMANAGER], metavar="OVERLAY"
    )
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
        for path in generation.write():
            sys.stdout.write(f"{path.relative_to(HOME)}\n")
        return
    if unseen := definitions.missing():
        operators = sorted({f"{each.operator} {each.version}" for each in unseen})
        sys.stdout.write(
            "custom resources are checked against the project's own schemas alone: the definitions of "
            f"{', '.join(operators)} are not here; deploy/kubernetes/definitions.sh gets them\n"
        )
    # All of them, not the first that fails: one run should tell everything.
    if not all([_validate(overlay) for overlay in arguments.overlays]):  # noqa: C419
        sys.exit(1)


def _get_definitions(checkouts: Path | None) -> None:
    try:
        definitions.get(definitions.published(), checkouts)
    except definitions.DefinitionError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{len(definitions.published())} definitions are in {definitions.FOLDER}\n")


def _validate(overlay: Path) -> bool:
    try:
        resources = render(overlay)
    except RenderingError as error:
        sys.stderr.write(f"{overlay.name}: cannot be rendered\n  {error}\n")
        return False
    # The rules may then take for granted that everything has the shape that it must have.
    cluster = Cluster(overlay.name, resources)
    problems = list(schemas.problems(resources)) or list(policies.problems(cluster))
    for problem in problems:
        sys.stderr.write(f"{overlay.name}: {problem}\n")
    if not problems:
        sys.stdout.write(
            f"{overlay.name}: {len(resources)} resources are valid for Kubernetes {' and '.join(schemas.VERSIONS)} "
            f"and keep {len(policies.policies_for(cluster))} rules\n"
        )
    return not problems


main()
