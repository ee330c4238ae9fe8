"""The order in which an overlay is applied to a cluster; a stand-in for kubectl records its arguments."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from manifests.rendering import HOME

_STAND_IN = """#!/bin/sh
if [ "$1" = kustomize ]; then exec "$REAL" "$@"; fi
echo "$*" >>"$CALLS"
case " $* " in
*" get secret service-key "* | *" get secret registry "*) exit 0 ;;
*" get secret backup-store "*) exit "${BACKUP_STORE:-0}" ;;
*" get secret "*) exit 1 ;;
*" create --filename - "*) sed -n 's/^metadata: {name: \\([^,]*\\),.*/made \\1/p' >>"$CALLS" ;;
*" get job "*) if [ -e "$CALLS.asked" ]; then printf '%b' "$JOBS"; else touch "$CALLS.asked"; echo migrate-social-0-1-0; fi ;;
*" logs "*) echo "the log of $*" ;;
*" api-versions "*) printf 'v1\\napps/v1\\nbatch/v1\\nkeda.sh/v1alpha1\\nrabbitmq.com/v1beta1\\n' ;;
esac
"""


class Cluster:
    """Answers like kubectl for a cluster with Jobs that end as `jobs` says."""

    def __init__(self, folder: Path, kubectl: Path, jobs: str) -> None:
        stand_in, self._calls = folder / "kubectl", folder / "calls"
        stand_in.write_text(_STAND_IN)
        stand_in.chmod(0o755)
        self._home = folder / "deploy" / "kubernetes"
        self._variables = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "REAL": str(kubectl),
            "CALLS": str(self._calls),
            "JOBS": jobs,
        }

    def apply(self, overlay: str, *, with_addresses: bool = True) -> subprocess.CompletedProcess[str]:
        """Of a copy of all manifests, in which an operator has named the addresses of servers outside."""
        if not self._home.exists():
            shutil.copytree(HOME.parent, self._home.parent, ignore=shutil.ignore_patterns("__pycache__"))
            prod = self._home / "overlays" / "prod" / "kustomization.yaml"
            text = prod.read_text()
            if with_addresses:
                text = text.replace("192.0.2.10/32", "10.0.0.1/32").replace("198.51.100.20/32", "10.1.0.1/32")
            prod.write_text(text)
            alertmanager = self._home / "overlays" / "alertmanager" / "kustomization.yaml"
            if with_addresses:
                alertmanager.write_text(alertmanager.read_text().replace("203.0.113.", "10.2.0."))
        return subprocess.run(
            [self._home / "apply.sh", overlay],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | self._variables,
        )

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines()


DONE = "migrate-social-0-1-0 SuccessCriteriaMet Complete\\nmigrate-monitor-0-1-0 Complete\\n"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("overlay", "namespace", "waits_for"),
    [("dev", "brand-engine-dev", 0), ("prod", "brand-engine", 6)],
)
def test_services_come_last(
    kubectl: Path, tmp_path: Path, overlay: str, namespace: str, waits_for: int
) -> None:
    cluster = Cluster(tmp_path, kubectl, DONE)
    result = cluster.apply(overlay)
    assert result.returncode == 0, result.stderr
    said = cluster.calls
    steps = [
        next(number for number, line in enumerate(said) if part in line)
        for part in (
            "--selector app.kubernetes.io/component=namespace",
            "made keda-broker",
            f"--namespace {namespace} delete job",
            "--selector app.kubernetes.io/component!=service",
            f"--namespace {namespace} get job",
            "all.yaml --selector app.kubernetes.io/part-of=brand-engine",
            "rollout status deployment orchestrator",
            "rollout status deployment monitor",
            "--prune --selector app.kubernetes.io/part-of=brand-engine",
        )
    ]
    assert steps == sorted(steps)
    # Asked again until all have ended.
    assert sum(f"--namespace {namespace} get job" in line for line in said) == 2
    makes_roles = [
        number
        for number, line in enumerate(said)
        if line.endswith("/docker-entrypoint-initdb.d/databases.sh")
    ]
    assert len(makes_roles) == (overlay == "dev")
    assert all(steps[3] < number < steps[4] for number in makes_roles)
    # Those that were there stay as they are.
    assert "made service-key" not in said
    assert sum(".rabbitmq.com --all --for=condition=Ready" in line for line in said) == waits_for


@pytest.mark.extended
def test_a_migration_that_failed_ends_it_at_once_with_its_log(kubectl: Path, tmp_path: Path) -> None:
    jobs = "migrate-social-0-1-0 FailureTarget Failed\\nmigrate-monitor-0-1-0 Complete\\nmigrate-research-0-1-0\\n"
    cluster = Cluster(tmp_path, kubectl, jobs)
    result = cluster.apply("prod")
    assert result.returncode == 1
    # Nobody asks again once one has failed.
    assert sum("get job" in line for line in cluster.calls) == 2
    assert "Job migrate-social-0-1-0 failed" in result.stderr
    assert "the log of --namespace brand-engine logs" in result.stderr
    # Neither those that are done nor those still at work.
    assert "migrate-monitor" not in result.stderr
    assert "migrate-research" not in result.stderr
    # No service was touched.
    assert not any("--prune" in line or "rollout" in line for line in cluster.calls)


@pytest.mark.extended
def test_a_store_for_backups_whose_keys_nobody_gave_ends_it_before_anything(
    kubectl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKUP_STORE", "1")
    cluster = Cluster(tmp_path, kubectl, DONE)
    result = cluster.apply("prod")
    assert result.returncode == 1
    assert "create secret generic backup-store" in result.stderr
    assert not any("component!=service" in line for line in cluster.calls)
    # Where there are no backups, nobody asks for them.
    assert cluster.apply("dev").returncode == 0


@pytest.mark.extended
def test_addresses_of_examples_end_it_before_anything(kubectl: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, kubectl, DONE)
    result = cluster.apply("prod", with_addresses=False)
    assert result.returncode == 1
    assert "cidr: 192.0.2.10/32" in result.stderr
    assert "cidr: 198.51.100.20/32" in result.stderr
    assert "kubectl get endpointslices --namespace default kubernetes" in result.stderr
    assert not (tmp_path / "calls").exists()


def test_the_policies_of_alertmanager_are_applied_by_themselves(kubectl: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, kubectl, DONE)
    result = cluster.apply("alertmanager")
    assert result.returncode == 0, result.stderr
    (call,) = cluster.calls
    assert call.startswith("apply --filename ")
    assert "--prune" not in call


def test_alertmanager_keeps_its_way_out_until_its_receivers_are_named(kubectl: Path, tmp_path: Path) -> None:
    result = Cluster(tmp_path, kubectl, DONE).apply("alertmanager", with_addresses=False)
    assert result.returncode == 1
    assert "cidr: 203.0.113.25/32" in result.stderr
    assert "of the receivers of alerts" in result.stderr
    assert not (tmp_path / "calls").exists()


@pytest.mark.extended
def test_what_has_left_the_files_is_removed_but_never_data(kubectl: Path, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, kubectl, DONE)
    assert cluster.apply("prod").returncode == 0
    (pruning,) = [line for line in cluster.calls if "--prune " in line]
    kinds = {part.removeprefix("--prune-allowlist=") for part in pruning.split() if "allowlist" in part}
    assert {"core/v1/Service", "rabbitmq.com/v1beta1/Binding", "keda.sh/v1alpha1/ScaledObject"} <= kinds
    assert not {kind.rpartition("/")[2] for kind in kinds} & {
        "Cluster",
        "ConfigMap",
        "Database",
        "Namespace",
        "PersistentVolumeClaim",
        "RabbitmqCluster",
        "Secret",
        "StatefulSet",
    }
    # kubectl would refuse a kind that the cluster does not have.
    assert not any("monitoring.coreos.com" in kind for kind in kinds)
