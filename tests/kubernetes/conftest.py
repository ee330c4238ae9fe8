"""The overlays, rendered once for all tests of this folder."""

import copy
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from manifests.rendering import ALERTMANAGER, HOME, OVERLAYS, render

Resources = list[dict[str, Any]]
Overlay = Callable[[str], Resources]


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The pinned kubectl, installed if it is missing; it renders, and speaks with no cluster here."""
    if given := os.environ.get("KUBECTL"):
        return Path(given)
    result = subprocess.run(
        [HOME / "install-kubectl.sh"], check=True, stdout=subprocess.PIPE, text=True, timeout=300
    )
    return Path(result.stdout.strip())


@pytest.fixture(scope="session")
def _rendered(kubectl: Path) -> Mapping[str, Resources]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECTL", str(kubectl))
        return {overlay.name: render(overlay) for overlay in (*OVERLAYS, ALERTMANAGER)}


@pytest.fixture
def overlay(_rendered: Mapping[str, Resources]) -> Overlay:
    """`overlay("dev")`: its resources, a copy that the test may change."""
    return lambda name: copy.deepcopy(_rendered[name])
