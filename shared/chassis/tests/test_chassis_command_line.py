"""A migration's exit code tells its caller whether to try again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chassis.command_line import REFUSED

_PROGRAM = """
from chassis.command_line import command_line
from chassis.settings import AppSettings
command_line("counter", AppSettings, lambda settings: None)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of migrations of a package called `counter`."""
    folder = tmp_path / "counter" / "migrations"
    folder.mkdir(parents=True)
    (tmp_path / "counter" / "__init__.py").touch()
    (folder / "0001_visits.sql").write_text("create table visits (at timestamptz)")
    return folder


def migrate(package: Path, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, "migrate"],
        env=os.environ | {"DATABASE_URL": url, "PYTHONPATH": str(package.parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_the_database_refuses_is_not_worth_another_try(package: Path, database_url: str) -> None:
    (package / "0002_broken.sql").write_text("alter table visitors add column name text")
    result = migrate(package, database_url)
    assert result.returncode == REFUSED
    assert 'counter/0002_broken.sql: relation "visitors" does not exist' in result.stderr


@pytest.mark.extended
@pytest.mark.parametrize(
    "statement", ["select pg_terminate_backend(pg_backend_pid())", "do $$begin raise sqlstate '40P01'; end$$"]
)
def test_what_the_server_interrupts_is(package: Path, database_url: str, statement: str) -> None:
    (package / "0002_unlucky.sql").write_text(statement)
    result = migrate(package, database_url)
    assert result.returncode == 1
    assert "counter/0002_unlucky.sql" in result.stderr
    (package / "0002_unlucky.sql").unlink()
    assert migrate(package, database_url).returncode == 0


def test_so_is_a_server_that_cannot_be_reached(package: Path) -> None:
    result = migrate(package, "postgresql://counter:secret@127.0.0.1:1/counter")
    assert result.returncode == 1
    assert "cannot migrate the database of counter" in result.stderr
    assert "secret" not in result.stderr


def test_what_stays_until_the_end_is_not_gone_through_for_garbage() -> None:
    program = """
import gc, sys
from chassis.command_line import command_line
from chassis.settings import AppSettings
class Counter:
    async def run(self):
        sys.exit(0 if gc.isenabled() and gc.get_freeze_count() > 10 * len(gc.get_objects()) else "nothing is set aside")
command_line("counter", AppSettings, lambda settings: Counter())
"""
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"DATABASE_URL": "postgresql://counter:secret@127.0.0.1:1/counter"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
