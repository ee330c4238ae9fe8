"""The types of events that other systems can choose. Each has a line in the catalogue of texts, under `event_types`.

A test compares them with the catalogue of messages, which itself takes megabytes.
"""

from collections.abc import Iterable
from typing import Final

OF_BRANDS: Final = (
    "content.published",
    "content.generated",
    "content.refused",
    "content.publish_failed",
    "drafts.waiting",
    "social.posted",
    "social.failed",
    "cycle.completed",
    "research.completed",
    "research.failed",
    "research.waiting",
    "audit.completed",
    "brand.erased",
    "dead_letter.recorded",
)
"""Those that name a brand, the ones that most systems want first."""
ALL: Final = (*OF_BRANDS, "database.fell_back")


def with_chosen(offered: tuple[str, ...], chosen: Iterable[str]) -> tuple[str, ...]:
    """The types that a form offers, and chosen ones that it does not know, such as those of a later version."""
    return (*offered, *(each for each in dict.fromkeys(chosen) if each not in offered))
