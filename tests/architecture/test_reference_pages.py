"""The pages of docs/reference that are made from services are those of the services as they are, and have all of them."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from brandctl.local.services import PROCESSES
from chassis.http.callers import Scope
from envelope.brand import SERVICES
from gateway.operator_keys import OPEN_WITHOUT_A_KEY
from reference_pages.limits_page import LIMITS
from reference_pages.pages import pages
from reference_pages.tables import table
from tests.architecture.test_settings_reach_containers import settings_of

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "reference"


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


def test_every_operation_needs_a_scope_or_the_service_key_but_for_signing_in(made: dict[str, str]) -> None:
    rows = re.findall(r"^\| `([A-Z]+ [^`]+)` \| [^|]+ \| ([^|]+) \| [^|]+ \|$", made["http.md"], re.MULTILINE)
    assert len(rows) > 250
    scopes = {*(f"`{each}`" for each in Scope), "service key"}
    assert {route for route, cell in rows if not {*cell.split(", ")} <= scopes} == OPEN_WITHOUT_A_KEY
    assert {cell for route, cell in rows if route in OPEN_WITHOUT_A_KEY} == {"no key"}


def test_an_operation_has_the_codes_of_the_functions_that_it_reaches(made: dict[str, str]) -> None:
    cells = dict(re.findall(r"^\| `([A-Z]+ [^`]+)` \|.*\| ([^|]+) \|$", made["http.md"], re.MULTILINE))
    # Raised by the route, by what it calls, by a dependency, as an error that a handler refuses, and none.
    assert cells["GET /v1/cycles/{cycle_id}"] == "`unknown_cycle`"
    assert "`brand_missing`" in cells["PUT /v1/brands/{slug}"]
    assert "`decided_otherwise`" in cells["POST /v1/drafts/{content_id}/approve"]
    assert cells["GET /v1/workflows/{content_id}"] == "`unknown_workflow`"
    assert cells["GET /v1/brands"] == "none"


def test_every_code_that_an_operation_has_is_explained(made: dict[str, str]) -> None:
    codes = (FOLDER.parent / "problem-codes.md").read_text(encoding="utf-8")
    named = set(
        re.findall(r"`([a-z_.]+)`", "".join(re.findall(r"\| ([^|]+) \|$", made["http.md"], re.MULTILINE)))
    )
    assert len(named) > 60
    assert [each for each in sorted(named) if f"| `{each}` |" not in codes] == []


def test_a_cell_cannot_break_its_row() -> None:
    assert table(("a", "b"), [("x|y", "one\ntwo")]) == "| a | b |\n|---|---|\n| x\\|y | one two |\n"


TAKES_REQUESTS: Final = re.compile(r"(?:.*_)?(?:routes|models|receiving|definition|http_api)")
"""Modules, by the last part of their names, that bound what callers send. The console's forms say their bounds themselves."""
BOUND: Final = re.compile(r"_?(?:MAX|MOST|LONGEST|LARGEST)(?:_[A-Z_]+)?")
NOT_FOR_CALLERS: Final = {
    "events.incoming_hooks.receiving:_MOST_COUNTED": "memory of addresses, not of a caller",
    "messaging.departure_routes:_MAX_SLUG": "the length of a slug, which is listed",
    "messaging.part_routes:_MAX_SLUG": "the length of a slug, which is listed",
    "monitor.dead_letters.routes:_MAX_GROUPS": "the length of a page, which is listed",
    "orchestrator.subjects.models:MAX_KEYWORD": "the length of a keyword, which is listed",
    "orchestrator.workflows.routes:MAX_STEP": "names of steps, which the service chooses",
    "publisher.http_api:_MAX_SITES": "the page of all sites, without a request for more",
    "receipts.routes:_MAX_ATTEMPTS": "attempts in an answer, which stop long before",
    "research.http_api:MAX_ID": "what the database can number",
    "research.uploads.routes:MAX_ID": "what the database can number",
    "social.http_api:_MAX_FEEDS": "the page of all feeds, without a request for more",
}
"""Bounds that no caller meets, or that the page has by another name."""


def bounds() -> set[str]:
    found = set()
    for source in (*ROOT.glob("services/*/src"), *ROOT.glob("shared/*/src")):
        for path in source.rglob("*.py"):
            module = ".".join(path.relative_to(source).with_suffix("").parts)
            if TAKES_REQUESTS.fullmatch(path.stem) and not module.startswith("console."):
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    targets = (
                        [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
                    )
                    names = (each.id for each in targets if isinstance(each, ast.Name))
                    found |= {f"{module}:{name}" for name in names if BOUND.fullmatch(name)}
    return found


def test_every_bound_of_what_callers_send_is_listed_or_no_caller_meets_it() -> None:
    listed = {place for limits in LIMITS.values() for _, place, _ in limits}
    found = bounds()
    assert len(found) > 50
    assert found - listed - set(NOT_FOR_CALLERS) == set(), "add them to LIMITS of reference_pages.limits_page"
    assert set(NOT_FOR_CALLERS) - found == set()
