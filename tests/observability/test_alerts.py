"""The alerts: each fires when it should and not otherwise, says where to read on, and Prometheus understands all of it."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OBSERVABILITY = ROOT / "deploy" / "observability"
PROMETHEUS = OBSERVABILITY / "prometheus"
INSTRUCTIONS = ROOT / "docs" / "operations" / "alerts.md"
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
}


def promtool(*arguments: str, folder: Path = PROMETHEUS) -> None:
    """Prometheus's own checker; `make test` installs it (Debian: apt-get install prometheus)."""
    result = subprocess.run(
        ["promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_prometheus_accepts_its_configuration_with_all_rules() -> None:
    promtool("check", "config", "prometheus.yml")
    promtool("check", "rules", "alerts.yml")


@pytest.mark.extended
def test_alerts_fire_when_they_should_and_not_otherwise() -> None:
    promtool("test", "rules", "alerts.test.yml")


def test_prometheus_understands_every_expression_of_the_dashboards(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(
            target["expr"]
            for path in (OBSERVABILITY / "grafana" / "dashboards").glob("*.json")
            for panel in json.loads(path.read_text())["panels"]
            for target in panel.get("targets", [])
        )
    ]
    assert len(rules) > 100
    # JSON is YAML, too.
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", "panels.yml", folder=tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_test_that_fires_and_one_that_does_not(alert: str) -> None:
    tests = [
        one
        for scene in yaml.safe_load((PROMETHEUS / "alerts.test.yml").read_text())["tests"]
        for one in scene["alert_rule_test"]
        if one["alertname"] == alert
    ]
    assert {bool(one["exp_alerts"]) for one in tests} == {True, False}


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_points_to_a_section_that_says_what_to_do(alert: str) -> None:
    annotations = ALERTS[alert]["annotations"]
    assert annotations["runbook"] == f"docs/operations/alerts.md#{alert.lower()}"
    assert annotations["summary"]
    assert ALERTS[alert]["labels"]["severity"] in {"warning", "critical"}
    assert f"\n## {alert}\n\n" in INSTRUCTIONS.read_text()


def test_there_are_no_instructions_for_alerts_that_are_gone() -> None:
    on_kubernetes = (ROOT / "deploy" / "kubernetes" / "components").glob("*/alerts.yaml")
    known = {
        rule["alert"]
        for path in on_kubernetes
        for manifest in yaml.safe_load_all(path.read_text())
        for group in manifest["spec"]["groups"]
        for rule in group["rules"]
    }
    assert set(re.findall(r"^## (\w+)$", INSTRUCTIONS.read_text(), re.MULTILINE)) == known | set(ALERTS)
