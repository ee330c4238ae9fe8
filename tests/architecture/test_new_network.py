"""A new network is four files, found by themselves: Pinterest, in a copy of the packages that it takes.

`new_network` has the four, each in the folder of the package that it goes into. CONTRIBUTING.md walks through them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEW = Path(__file__).parent / "new_network"
MEMBERS = {
    "integrations": "shared/integrations",
    "gateway": "services/gateway",
    "social": "services/social",
    "fakes": "tests/fakes",
}
"""Packages → the workspace members that have them."""
SUITES = (
    "services/social/tests/channels/test_channel_conformance.py",
    "services/gateway/tests/accounts/test_account_kinds.py",
    "tests/end_to_end/test_posts_through_the_gateway.py",
    "tests/architecture/test_kinds_of_accounts.py",
)
"""One post or none, whatever is lost; allowed requests; no secret is shown; through the real gateway; one registry."""


def test_four_files_make_a_network_that_keeps_every_promise_of_a_channel(tmp_path: Path) -> None:
    files = sorted(path.relative_to(NEW) for path in NEW.rglob("*.py"))
    assert len(files) <= 4
    sources = {name: tmp_path / member / "src" for name, member in MEMBERS.items()}
    for member in MEMBERS.values():
        for folder in filter(Path.is_dir, (ROOT / member / "src", ROOT / member / "migrations")):
            shutil.copytree(
                folder, tmp_path / folder.relative_to(ROOT), ignore=shutil.ignore_patterns("__pycache__")
            )
    for file in files:
        shutil.copy(NEW / file, sources[file.parts[0]] / file)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    # Of what is played for each network by itself, its own part; of the rest all.
    chosen = ["-k", "pinterest or not test_one_post_or_none", *SUITES]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sources.values()))}
    tested = subprocess.run(
        [*command, *chosen], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout[-8000:]
    listed = subprocess.run(
        [sys.executable, "-m", "brandctl", "accounts", "connect", "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pinterest" in listed.stdout
