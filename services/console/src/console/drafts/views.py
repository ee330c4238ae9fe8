"""Contents of the screens of drafts, from the services' answers. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.drafts.context import sentences_of

STATES: Final = ("waiting", "scheduled", "returned", "correction", "approved", "rejected", "taken_down")
AUTHORS: Final = ("digest", "model", "person")
AGES: Final = (1, 3, 7, 30)
"""Days that a draft has been waiting at least."""
CARRIED: Final = frozenset({"quoted", "held", "confirmed", "transition"})
"""Verdicts of sentences that need no person."""
DECIDABLE: Final = frozenset({"waiting", "scheduled", "correction"})
"""States in which a person can approve, and reject."""
_LISTS: Final = frozenset({"item"})


@dataclass(frozen=True, slots=True)
class DraftQuery:
    """The state of the list, read from its address; other parameters are ignored."""

    state: str = ""
    author: str = ""
    age: int = 0
    text: str = ""
    after: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "DraftQuery":
        state, author, age, after = (query.get(name, "") for name in ("state", "author", "age", "after"))
        text = " ".join(query.get("q", "").replace("\0", " ").split())[:200]
        return cls(
            state if state in STATES else "",
            author if author in AUTHORS else "",
            int(age) if age in map(str, AGES) else 0,
            text,
            after if is_id(after) else "",
        )

    def filters(self, now: datetime) -> dict[str, Any]:
        """The arguments of the service's list and count."""
        return {
            "state": self.state or None,
            "author": self.author or None,
            "q": self.text or None,
            "since_before": now - timedelta(days=self.age) if self.age else None,
        }

    def address(self, **changes: object) -> str:
        """The query part of an address with these changes."""
        values = {"q": self.text, "state": self.state, "author": self.author, "age": self.age, **changes}
        given = {name: value for name, value in values.items() if value}
        return f"?{urlencode(given)}" if given else "?"

    @property
    def is_filtered(self) -> bool:
        return bool(self.state or self.author or self.age or self.text)


def is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ShownSentence:
    number: int
    text: str
    verdict: str
    sources: tuple[int, ...]

    @property
    def is_carried(self) -> bool:
        return self.verdict in CARRIED


@dataclass(frozen=True, slots=True)
class ShownBlock:
    number: int
    kind: str
    text: str
    sentences: tuple[ShownSentence, ...]


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """Blocks of one HTML element: the items of a list, the rows of a table, the lines of a listing."""

    kind: str
    blocks: tuple[ShownBlock, ...]


def block_groups(marked: Mapping[str, Any]) -> tuple[BlockGroup, ...]:
    """Returns the article's blocks with numbered sentences, those that belong together in one group."""
    groups: list[BlockGroup] = []
    for block in _shown_blocks(marked):
        if block.kind in {"item", "table", "listing"} and groups and groups[-1].kind == block.kind:
            groups[-1] = BlockGroup(block.kind, (*groups[-1].blocks, block))
        else:
            groups.append(BlockGroup(block.kind, (block,)))
    return tuple(groups)


def _shown_blocks(marked: Mapping[str, Any]) -> Iterator[ShownBlock]:
    number = 0
    for at, block in enumerate(marked["blocks"]):
        sentences = []
        for each in block["sentences"]:
            number += 1
            sentences.append(ShownSentence(number, each["text"], each["verdict"], tuple(each["sources"])))
        yield ShownBlock(at, block["kind"], block["text"], tuple(sentences))


@dataclass(frozen=True, slots=True)
class VerdictCount:
    """The sentences of an article by verdict, for the line above it."""

    carried: int
    total: int
    to_look_at: tuple[int, ...]
    """Numbers of the sentences that a person should look at."""


def count_verdicts(marked: Mapping[str, Any]) -> VerdictCount:
    verdicts = [each["verdict"] for each in sentences_of(marked)]
    open_ = tuple(at for at, each in enumerate(verdicts, 1) if each not in CARRIED)
    return VerdictCount(len(verdicts) - len(open_), len(verdicts), open_)


def time_in_zone(text: str, zone: str) -> datetime | None:
    """Returns what a field of the kind `datetime-local` says, in a reader's zone; None if it is no time, or none there."""
    try:
        local = datetime.fromisoformat(text)
        at = local.replace(tzinfo=ZoneInfo(zone), fold=0)
        # A time that the clocks skip does not exist there.
        exists = at.astimezone(ZoneInfo("UTC")).astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        return None
    return at if exists else None


@dataclass(frozen=True, slots=True)
class ChosenDraft:
    content_id: str
    version: int


def chosen_drafts(values: Sequence[str]) -> list[ChosenDraft]:
    """Returns the drafts that a form names as `id:version`, each once, without malformed ones."""
    found: dict[str, ChosenDraft] = {}
    for value in values:
        content_id, _, version = value.partition(":")
        if is_id(content_id) and version.isascii() and version.isdecimal() and len(version) < 10:  # noqa: PLR2004
            found.setdefault(content_id, ChosenDraft(content_id, int(version)))
    return list(found.values())
