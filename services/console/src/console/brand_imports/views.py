"""What the pages of imports show. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

STEPS: Final = ("brand", "articles", "documents", "pages", "posts", "end")
COUNTED: Final = ("articles", "versions", "keywords", "posts", "schedules", "documents", "subscribers")
_BRAND: Final = frozenset({"settings", "subject-decisions"})
_OF_SERVICE: Final = {"research": "documents", "publisher": "pages", "social": "posts"}
TONES: Final = {
    "arriving": "quiet",
    "arrived": "warn",
    "refused": "bad",
    "running": "warn",
    "silent": "bad",
    "broken": "bad",
    "done": "good",
}


@dataclass(frozen=True, slots=True)
class StepLine:
    name: str
    state: str
    """`done`, `now` or `later`."""
    added: int
    """Rows that are new here."""


def step_of(told: str) -> str:
    """The step of a line of `BrandImport.progress`, such as `publisher: pages`."""
    service, _, part = told.partition(": ")
    if part == "the end":
        return "end"
    if service == "orchestrator":
        return "brand" if part in _BRAND else "articles"
    return _OF_SERVICE.get(service, "brand")


def step_lines(progress: Mapping[str, Any], *, is_done: bool) -> list[StepLine]:
    """Each step with what it stored."""
    now = STEPS.index(step_of(progress.get("step") or ""))
    added = dict.fromkeys(STEPS, 0)
    for name, count in (progress.get("added") or {}).items():
        added[step_of(name.replace("/", ": "))] += count
    added["documents"] += progress.get("documents") or 0
    return [
        StepLine(
            name,
            "done" if is_done or number < now else "now" if number == now else "later",
            added[name],
        )
        for number, name in enumerate(STEPS)
    ]


def counts_of(contents: Mapping[str, Any]) -> list[tuple[str, int]]:
    """What arrives, the most important first: JSON of the database has an order of its own."""
    return [(name, contents["counts"][name]) for name in COUNTED if name in contents["counts"]]


def exported_at(contents: Mapping[str, Any]) -> datetime | None:
    """The time of the export; None for a text of an archive that is none."""
    try:
        found = datetime.fromisoformat(contents["exported_at"] or "")
    except ValueError:
        return None
    return found if found.tzinfo else None


def connect_again(listed: list[str]) -> list[tuple[str, str]]:
    """Kinds and names, of `channel mastodon`."""
    return [(kind, name) for kind, _, name in (each.partition(" ") for each in listed)]
