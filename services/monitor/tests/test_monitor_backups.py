"""The figure for the alert on the age of the last backup, from real files."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from chassis.observing.metrics import Families
from monitor.backups import NEVER, BackupAge, last_backup


def shown(record: Path | None, max_age_hours: float | None) -> list[str]:
    """The lines that Prometheus gets."""
    registry = CollectorRegistry()
    registry.register(BackupAge(Families("brand_engine"), record, max_age_hours))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_the_time_of_the_last_backup_and_the_age_it_may_reach_are_shown(tmp_path: Path) -> None:
    record = tmp_path / "last"
    record.write_text("1795528080\n")
    assert shown(record, 30) == [
        "brand_engine_last_backup_timestamp_seconds 1.79552808e+09",
        "brand_engine_backup_max_age_seconds 108000.0",
    ]


def test_a_new_backup_shows_at_the_next_scrape(tmp_path: Path) -> None:
    record = tmp_path / "last"
    registry = CollectorRegistry()
    registry.register(BackupAge(Families("brand_engine"), record, None))
    name = "brand_engine_last_backup_timestamp_seconds"
    assert registry.get_sample_value(name) == NEVER
    record.write_text("1795528080\n")
    assert registry.get_sample_value(name) == 1795528080


def test_backups_that_nobody_asked_to_be_told_of_have_no_age(tmp_path: Path) -> None:
    assert shown(tmp_path / "last", None) == ["brand_engine_last_backup_timestamp_seconds 0.0"]
    assert shown(None, 30) == []


@pytest.mark.parametrize(
    "content", [b"", b"yesterday", b"-5", b"\xff\xfe\x00", b"9" * 100_000, "١٢٣".encode()]
)
def test_a_record_without_a_time_counts_as_no_backup(tmp_path: Path, content: bytes) -> None:
    record = tmp_path / "last"
    record.write_bytes(content)
    assert last_backup(record) == NEVER


def test_a_record_that_cannot_be_read_counts_as_no_backup(tmp_path: Path) -> None:
    (tmp_path / "last").mkdir()
    assert last_backup(tmp_path / "last") == NEVER
