"""`make example`, as its readers run it: from nothing to its end."""

import subprocess
import sys

import pytest


@pytest.mark.extended
def test_the_demonstration_ends_by_itself_with_everything_in_order() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "shop_demo"], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was lost, and nothing was done twice." in done.stdout
    assert "failure-message: no card takes 5000000 cents" in done.stdout
    assert done.stderr == ""
