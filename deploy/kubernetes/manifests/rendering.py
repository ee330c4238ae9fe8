"""Overlays as `kubectl kustomize` renders them."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

HOME: Final = Path(__file__).resolve().parents[1]
OVERLAYS: Final = (HOME / "overlays" / "dev", HOME / "overlays" / "prod")
"""Installations of the services."""
ALERTMANAGER: Final = HOME / "overlays" / "alertmanager"
"""Policies for the Alertmanager of the Prometheus operator's chart, in its namespace."""

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
    result = subprocess.run(  # noqa: S603 - our own command line, no shell
        [program, "kustomize", str(overlay)],
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    if result.returncode != 0:
        raise RenderingError(result.stderr.strip())
    return [resource for resource in yaml.safe_load_all(result.stdout) if resource is not None]
