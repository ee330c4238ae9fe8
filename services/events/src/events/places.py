"""Places in the log, as readers send them back."""

from typing import Annotated, Final

from fastapi import Query

from chassis.http.problem_codes import RefusalError
from envelope import MessageKind
from envelope.brand import CATALOGUE
from events import problem_codes as codes
from events.log.store import LogHead

_MOST_TYPES: Final = 50
STORABLE: Final = r"^[^\x00]*$"
"""Pattern of texts that PostgreSQL takes."""

After = Annotated[
    int | None,
    Query(
        description="Place after which to read: `next` or `last` of an answer, or the `sequence` of an event.",
        ge=0,
        le=2**63 - 1,
    ),
]
Types = Annotated[
    str | None,
    Query(
        description="Only these types, separated by commas, such as `content.published,social.posted`.",
        max_length=2_000,
    ),
]


def check_place(after: int, head: LogHead) -> None:
    """Raise RefusalError if events that follow this place are forgotten, or the log has not come to it."""
    if after > head.position:
        raise RefusalError(
            codes.UNKNOWN_EVENT_PLACE,
            f"after: the newest event is at {head.position}; if {after} comes from an earlier answer, the log was restored from a"
            f" backup: read the state of the things that you follow, then continue with after={head.position}",
        )
    if after < head.forgotten:
        raise RefusalError(
            codes.EVENTS_FORGOTTEN,
            f"after: events up to {head.forgotten} are forgotten, so you have missed some; read what you follow as it is now,"
            f" then go on with after={head.forgotten}",
        )


def read_types(text: str | None) -> list[str] | None:
    """The types of a parameter; None for all.

    Raises:
        RefusalError: the catalogue has no such type of events.
    """
    if text is None:
        return None
    types = [each.strip() for each in text.split(",") if each.strip()]
    check_types(types)
    return types


def check_types(types: list[str]) -> None:
    """Raise RefusalError for a type that the catalogue does not have."""
    for each in types:
        entry = CATALOGUE.get(each)
        if entry is None or entry.kind is not MessageKind.EVENT:
            known = ", ".join(name for name, found in CATALOGUE.items() if found.kind is MessageKind.EVENT)
            raise RefusalError(
                codes.UNKNOWN_EVENT_TYPE, f"types: there are no events '{each[:100]}'; the types are {known}"
            )
