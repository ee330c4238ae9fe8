"""The order in which an overlay is brought into a cluster; a stand-in for kubectl writes down what it is told."""

import os
import subprocess
from pathlib import Path

import pytest

from manifests.rendering import HOME

_STAND_IN = """#!/bin/sh
if [ "$1" = kustomize ]; then exec "$REAL" "$@"; fi
echo "$*" >>"$CALLS"
case " $* " in
*" get secret service-key "*) exit 0 ;;
*" get secret "*) exit 1 ;;
*" create --filename - "*) sed -n 's/^metadata: {name: \\([^,]*\\),.*/made \\1/p' >>"$CALLS" ;;
esac
"""


@pytest.mark.parametrize(
    ("overlay", "namespace", "waits_for"),
    [("dev", "brand-engine-dev", 0), ("prod", "brand-engine", 6)],
)
def test_services_come_last(
    kubectl: Path, tmp_path: Path, overlay: str, namespace: str, waits_for: int
) -> None:
    stand_in, calls = tmp_path / "kubectl", tmp_path / "calls"
    stand_in.write_text(_STAND_IN)
    stand_in.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REAL": str(kubectl), "CALLS": str(calls)}
    subprocess.run([HOME / "apply.sh", overlay], check=True, timeout=60, env=os.environ | variables)
    said = calls.read_text().splitlines()
    steps = [
        next(number for number, line in enumerate(said) if part in line)
        for part in (
            "overlays/" + overlay + "/namespace.yaml",
            "made keda-broker",
            f"--namespace {namespace} delete job",
            "--selector app.kubernetes.io/component!=service",
            f"--namespace {namespace} wait job --for=condition=Complete",
            "rollout status deployment orchestrator",
        )
    ]
    assert steps == sorted(steps)
    everything = [number for number, line in enumerate(said) if line.endswith("all.yaml")]
    assert len(everything) == 1
    assert steps[-2] < everything[0] < steps[-1]
    # Those that were there stay as they are.
    assert "made service-key" not in said
    assert sum(".rabbitmq.com --all --for=condition=Ready" in line for line in said) == waits_for
