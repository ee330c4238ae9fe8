"""Contents of the pages about articles, made from the services' answers. Pure: no I/O, no clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from console.keywords.views import without_code
from console.list_filters import safe_link
from console.pages.paused_queues import PausedQueue

STATES: Final = ("published", "publishing", "waiting", "rejected", "taken_down")
TONES: Final = {"published": "good", "waiting": "warn", "rejected": "quiet", "taken_down": "quiet"}


@dataclass(frozen=True, slots=True)
class ArticlePlace:
    """Where an article is, or should be."""

    target: str
    state: str
    tone: str
    url: str | None
    at: str | None
    detail: str


def article_state(content: Mapping[str, Any]) -> str:
    """The state as the list of articles has it."""
    if content["taken_down_at"]:
        return "taken_down"
    if content["held_for"]:
        return "waiting"
    return "published" if content["published_url"] else "publishing"


@dataclass(frozen=True, slots=True)
class PublicationWait:
    """What an article waits for that is being published."""

    since: str
    key: str
    """Of the text, below `articles.waits`."""
    detail: str = ""
    """In the words of a service or a person."""
    path: str | None = None
    """Where to mend it."""
    at: datetime | None = None
    """Since when what it waits for is so; None: unknown."""


def publication_wait(
    content: Mapping[str, Any],
    keyword: Mapping[str, Any] | None,
    letters: Sequence[Mapping[str, Any]],
    paused: Sequence[PausedQueue],
    *,
    is_publisher_away: bool,
) -> PublicationWait:
    """What an article waits for; the cause that needs a person first.

    Args:
        content: the article.
        keyword: that it was written for; None if its cycle is no longer stored.
        letters: open dead letters of the keyword; empty for people who may not see them.
        paused: paused queues of the publisher; empty for people who may not see them.
        is_publisher_away: whether the publisher does not answer.
    """
    since = keyword["moved_at"] if keyword else content["updated_at"]
    wait = partial(PublicationWait, since)
    if letters:
        return wait("letter", letters[0]["detail"], f"/dead-letters/{letters[0]['id']}")
    if paused:
        by = f"{paused[0].by}: {paused[0].reason}"
        return wait("paused", by, "/backbone", paused[0].since)
    if is_publisher_away:
        return wait("away")
    if keyword and keyword["state"] == "failed":
        return wait("failed", without_code(keyword["reason"] or ""))
    if keyword and keyword["waits"]:
        return wait("other", without_code(keyword["waits"]))
    return wait("publisher")


def places_of(
    content: Mapping[str, Any], home: str, placements: Sequence[Mapping[str, Any]]
) -> tuple[ArticlePlace, ...]:
    """The article's home, which has the canonical address, then its further targets."""
    state = article_state(content)
    first = ArticlePlace(
        home,
        state,
        TONES.get(state, "plain"),
        safe_link(content["published_url"]),
        content["taken_down_at"],
        "",
    )
    tones = {"published": "good", "failed": "bad", "withdrawn": "quiet"}
    return (
        first,
        *(
            ArticlePlace(
                each["target"],
                each["state"],
                tones.get(each["state"], "plain"),
                safe_link(each["url"]),
                each["answered_at"] or each["asked_at"],
                each["reason"] or "",
            )
            for each in placements
        ),
    )


@dataclass(frozen=True, slots=True)
class ShownMeasure:
    """A measure of an article, in words."""

    name: str
    shown: str
    bound: str
    """`least`, `most`, `between` or `none`: which text says the bound."""
    least: str
    most: str
    holds: bool
    problem: str


def measures_of(measures: Sequence[Mapping[str, Any]]) -> tuple[ShownMeasure, ...]:
    """Measures with their bounds; those that miss theirs come first."""
    shown = (
        ShownMeasure(
            each["name"],
            each["shown"],
            _bound(each),
            _number(each["least"]),
            _number(each["most"]),
            each["holds"],
            each["problem"] or "",
        )
        for each in measures
    )
    return tuple(sorted(shown, key=lambda each: each.holds))


def _bound(measure: Mapping[str, Any]) -> str:
    least, most = measure["least"] is not None, measure["most"] is not None
    return "between" if least and most else "least" if least else "most" if most else "none"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def is_on_site(content: Mapping[str, Any], settings: Mapping[str, Any] | None) -> bool:
    """Whether the brand's own site has a page of the article, as far as the brand's settings say."""
    if article_state(content) != "published":
        return False
    return settings is None or "site" in {settings["target"], *(settings.get("targets") or ())}
