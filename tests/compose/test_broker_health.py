"""The broker's health check, on real nodes."""

import re
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from brandctl.local import rabbitmq

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "deploy" / "compose" / "broker-health.sh"


def check(node: rabbitmq.RabbitNode, metrics: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CHECK, str(node.port), metrics], check=False, capture_output=True, text=True, timeout=60
    )


def metrics_port(folder: Path) -> str:
    found = re.search(
        r"^prometheus\.tcp\.port = (\d+)$", (folder / "rabbitmq.conf").read_text(), re.MULTILINE
    )
    assert found is not None
    return found[1]


@pytest.mark.extended
def test_a_broker_is_healthy_until_it_is_gone(tmp_path: Path) -> None:
    node = rabbitmq.launch(tmp_path / "broker", management=True)
    try:
        node.wait()
        port = metrics_port(tmp_path / "broker")
        result = check(node, port)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    finally:
        node.stop()
    assert check(node, port).returncode == 1


@pytest.mark.extended
def test_a_broker_that_is_short_of_memory_is_not_healthy(tmp_path: Path) -> None:
    settings = {"vm_memory_high_watermark.absolute": "1MB"}
    node = rabbitmq.launch(tmp_path / "broker", management=True, settings=settings)
    try:
        node.wait()
        port = metrics_port(tmp_path / "broker")
        # It looks at its memory a moment after it takes connections.
        deadline = time.monotonic() + 60
        while (result := check(node, port)).returncode == 0 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert result.returncode == 1
        assert "the broker takes no messages: rabbitmq_alarms_memory_used_watermark 1" in result.stderr
    finally:
        node.stop()


def test_the_stack_checks_its_broker_so() -> None:
    broker = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["rabbitmq"]
    assert broker["healthcheck"]["test"] == ["CMD", "bash", "/broker-health.sh"]
    assert "./deploy/compose/broker-health.sh:/broker-health.sh:ro" in broker["volumes"]
