"""The alerts of components: each fires when it should and not otherwise, and says where to read on."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from manifests.rendering import HOME

FOLDERS = [HOME / "components" / name for name in ("database-monitoring", "broker-encryption")]


def rules_of(folder: Path) -> dict[str, Any]:
    rules: dict[str, Any] = yaml.safe_load((folder / "alerts.yaml").read_text())["spec"]
    return rules


@pytest.mark.extended
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_they_fire_when_they_should_and_not_otherwise(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(rules_of(folder)))
    (tmp_path / "alerts.test.yml").write_text((folder / "alerts.test.yml").read_text())
    result = subprocess.run(
        ["promtool", "test", "rules", "alerts.test.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_is_tried_and_explained(folder: Path) -> None:
    alerts = {rule["alert"]: rule for group in rules_of(folder)["groups"] for rule in group["rules"]}
    scenes = yaml.safe_load((folder / "alerts.test.yml").read_text())["tests"]
    tried = [one for scene in scenes for one in scene["alert_rule_test"]]
    assert {one["alertname"] for one in tried if one["exp_alerts"]} == alerts.keys()
    assert {one["alertname"] for one in tried if not one["exp_alerts"]} == alerts.keys()
    operations = (HOME.parents[1] / "docs" / "operations" / "alerts.md").read_text()
    for alert, rule in alerts.items():
        assert rule["annotations"]["runbook"] == f"docs/operations/alerts.md#{alert.lower()}"
        assert f"\n## {alert}\n" in operations
