"""The pages of docs/reference that are made from services are those of the services as they are, and have all of them."""

import re
from pathlib import Path
from typing import Final

import pytest

from brandctl.local.services import PROCESSES
from chassis.http.callers import Scope
from envelope.brand import SERVICES
from reference_pages.pages import pages
from reference_pages.tables import table
from tests.architecture.test_settings_reach_containers import settings_of

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages()


@pytest.mark.parametrize("name", ["settings.md", "http.md", "limits.md"])
def test_a_page_is_as_it_would_be_made(name: str, made: dict[str, str]) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == made[name], "run: make schemas"


@pytest.mark.parametrize("service", PROCESSES)
def test_every_setting_of_a_service_is_in_its_section_or_in_those_of_all(service: str) -> None:
    sections = dict(
        re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", (FOLDER / "settings.md").read_text(), re.MULTILINE)
    )
    shared = ("Every process", "Every service with queues", "Keys between services", "Ports", service)
    named = set(re.findall(r"`([A-Z_]+)`", "".join(sections[each] for each in shared)))
    assert set(settings_of(service)) - named == set()


def test_services_with_queues_have_the_settings_of_queues() -> None:
    with_queues = {each for each in PROCESSES if "RABBITMQ_URL" in settings_of(each)}
    assert with_queues == set(SERVICES)


def test_every_operation_needs_a_scope_or_the_service_key(made: dict[str, str]) -> None:
    rows = re.findall(r"^\| `[A-Z]+ [^`]+` \| [^|]+ \| ([^|]+) \| [^|]+ \|$", made["http.md"], re.MULTILINE)
    assert len(rows) > 250
    assert {each for cell in rows for each in cell.split(", ")} <= {
        *(f"`{each}`" for each in Scope),
        "service key",
    }


def test_a_cell_cannot_break_its_row() -> None:
    assert table(("a", "b"), [("x|y", "one\ntwo")]) == "| a | b |\n|---|---|\n| x\\|y | one two |\n"
