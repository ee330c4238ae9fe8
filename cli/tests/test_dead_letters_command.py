import os
import subprocess
import sys
from pathlib import Path


def test_without_a_monitor_the_command_says_what_is_missing(tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MONITOR_URL", "SERVICE_KEY"}
    }
    result = subprocess.run(
        [sys.executable, "-m", "brandctl", "dead-letters", "list"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert "MONITOR_URL and SERVICE_KEY not set" in result.stderr
