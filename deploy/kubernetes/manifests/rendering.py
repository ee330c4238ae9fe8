"""Overlays as `kubectl kustomize` renders them, and the chart as `helm template` does."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

HOME: Final = Path(__file__).resolve().parents[1]
OVERLAYS: Final = (HOME / "overlays" / "dev", HOME / "overlays" / "prod")
"""Installations of the services."""
ALERTMANAGER: Final = HOME / "overlays" / "alertmanager"
"""Policies for the Alertmanager of the Prometheus operator's chart, in its namespace."""
CHART: Final = HOME / "chart"

_LIMIT_SECONDS: Final = 60


class RenderingError(Exception):
    """kustomize refused, or kubectl is missing; the message says why."""


def render(overlay: Path) -> list[dict[str, Any]]:
    """Every resource of an overlay. `KUBECTL` names the program, which comes with kustomize built in.

    Raises:
        RenderingError: the overlay cannot be rendered.
    """
    program = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if program is None:
        raise RenderingError("no kubectl was found: start this by deploy/kubernetes/validate")
    return _resources([program, "kustomize", str(overlay)])


def render_chart(
    values: Mapping[str, Any], namespace: str = "brand-engine", *, upgrade: bool = False
) -> list[dict[str, Any]]:
    """Every resource that the chart makes with these values beside its own. `HELM` names the program.

    Raises:
        RenderingError: the values are refused, or helm is missing.
    """
    program = os.environ.get("HELM") or shutil.which("helm")
    if program is None:
        raise RenderingError("no helm was found: start this by deploy/kubernetes/validate")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(dict(values), file)
        file.flush()
        command = [
            program,
            "template",
            "brand-engine",
            str(CHART),
            "--namespace",
            namespace,
            "--values",
            file.name,
        ]
        return _resources([*command, *["--is-upgrade"] * upgrade])


def _resources(command: list[str]) -> list[dict[str, Any]]:
    result = subprocess.run(  # noqa: S603 - our own command line, no shell
        command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
    )
    if result.returncode != 0:
        raise RenderingError(result.stderr.strip())
    return [resource for resource in yaml.safe_load_all(result.stdout) if resource is not None]
