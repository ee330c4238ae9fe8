"""docs/settings.md and the services' READMEs name every setting, and docs/settings.md names no other one."""

import re
from pathlib import Path
from typing import Final

import pytest

from brandctl.local.services import PROCESSES
from chassis.settings import MigrationSettings
from tests.architecture.test_settings_reach_containers import settings_of

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "settings.md").read_text()
WITH_QUEUES: Final = frozenset(each for each in PROCESSES if "RABBITMQ_URL" in settings_of(each))
OF_OTHERS: Final = {
    "SSL_CERT_FILE": "OpenSSL's own",
    "JAEGER_URL": "of brandctl",
    "BRANDCTL_BY": "of brandctl",
}


def rows() -> list[tuple[set[str], str]]:
    """The variables of each row of the tables, and the cell that says which services have them."""
    cells = [
        [each.strip() for each in line.strip("|").split("|")]
        for line in PAGE.splitlines()
        if line.startswith("| ")
    ]
    return [
        (names, line[1])
        for line in cells
        if (names := {each for each in re.findall(r"`([A-Z_]+)`", line[0]) if each not in OF_OTHERS})
    ]


def owners(cell: str) -> set[str]:
    """The processes that a cell names."""
    if cell.startswith("all with queues"):
        return set(WITH_QUEUES)
    return set(PROCESSES) if cell.startswith("all") else set(cell.split(", "))


def test_every_row_names_settings_of_the_services_that_it_names() -> None:
    found = rows()
    assert len(found) >= 15
    for names, cell in found:
        for name in names - {each.upper() for each in MigrationSettings.model_fields}:
            if not name.startswith("OTEL_") or name == "OTEL_EXPORTER_OTLP_ENDPOINT":
                having = {each for each in PROCESSES if name in settings_of(each)}
                assert having == owners(cell), name


def test_the_keys_between_services_are_those_of_the_settings() -> None:
    known = {
        name
        for each in PROCESSES
        for name in settings_of(each)
        if re.fullmatch(r"[A-Z]+_TO_[A-Z]+_KEY", name)
    }
    assert set(re.findall(r"`([A-Z]+_TO_[A-Z]+_KEY)`", PAGE)) == known


@pytest.mark.parametrize("service", PROCESSES)
def test_every_setting_of_a_service_is_in_the_documents(service: str) -> None:
    documented = set(
        re.findall(r"`([A-Z_]+)`", PAGE + (ROOT / "services" / service / "README.md").read_text())
    )
    assert set(settings_of(service)) - documented == set()


@pytest.mark.parametrize("service", PROCESSES)
def test_the_default_ports_are_those_of_the_services(service: str) -> None:
    assert f"| {service} | {settings_of(service)['HTTP_PORT'].default} |" in PAGE
