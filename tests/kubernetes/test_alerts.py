"""The alerts about the database: each fires when it should and not otherwise, and says where to read on."""

import subprocess
from pathlib import Path

import yaml

from manifests.rendering import HOME

FOLDER = HOME / "components" / "database-monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]
SCENES = yaml.safe_load((FOLDER / "alerts.test.yml").read_text())["tests"]


def test_they_fire_when_they_should_and_not_otherwise(tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(RULES))
    (tmp_path / "alerts.test.yml").write_text((FOLDER / "alerts.test.yml").read_text())
    result = subprocess.run(
        ["promtool", "test", "rules", "alerts.test.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_is_tried_and_explained() -> None:
    alerts = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
    tried = [one for scene in SCENES for one in scene["alert_rule_test"]]
    assert {one["alertname"] for one in tried if one["exp_alerts"]} == alerts.keys()
    assert {one["alertname"] for one in tried if not one["exp_alerts"]} == alerts.keys()
    operations = (HOME.parents[1] / "docs" / "operations" / "alerts.md").read_text()
    for alert, rule in alerts.items():
        assert rule["annotations"]["runbook"] == f"docs/operations/alerts.md#{alert.lower()}"
        assert f"\n## {alert}\n" in operations
