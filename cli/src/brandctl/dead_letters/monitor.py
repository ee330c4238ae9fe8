"""Client of the monitor's API about dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from brandctl.asking import ServiceClient

MAX_BULK: Final = 500


class DeadLetter(BaseModel):
    """A dead letter of the API's answer; fields that only `show` needs stay in the raw answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    queue: str
    type: str | None
    reason: str
    exception_type: str | None
    detail: str
    attempts: int
    failed_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    items: list[dict[str, JsonValue]]
    next: str | None
    matching: int
    open: int
    now: str

    def dead_letters(self) -> list[DeadLetter]:
        return [DeadLetter.model_validate(item) for item in self.items]


class ReplayOutcome(BaseModel):
    """The state of a dead letter after its replay."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: UUID
    state: str
    replaced_by: UUID | None

    @property
    def died_again(self) -> bool:
        return self.replaced_by is not None


@dataclass(frozen=True, slots=True)
class DecisionNote:
    """The name of the person who decides, and the reason."""

    by: str
    why: str | None

    def body(self) -> dict[str, str]:
        return {"by": self.by} | ({"reason": self.why} if self.why else {})


@dataclass(frozen=True, slots=True)
class DeadLetterSelection:
    """A filter of open dead letters; None matches any value."""

    queue: str | None = None
    type_name: str | None = None
    group: str | None = None
    count: int = 0
    """How many matched when they were counted."""
    until: str | None = None
    """The time of the count; later ones are left out."""

    def of(self, count: int, *, until: str) -> "DeadLetterSelection":
        return replace(self, count=count, until=until)

    @property
    def in_words(self) -> str:
        parts = ((" of ", self.queue), (" of type ", self.type_name), (" of group ", self.group))
        return "".join(f"{word}{value}" for word, value in parts if value)

    def body(self) -> dict[str, str]:
        given = {"queue": self.queue, "type": self.type_name, "group": self.group, "until": self.until}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DecidedChunk:
    """The decided part of a selection."""

    ids: list[str]
    next: str | None
    """The cursor of the next chunk; None if no more are open."""


class MonitorClient(ServiceClient):
    """A client; use it as a context manager. Every method may raise `ServiceError`."""

    service = "monitor"

    def page(self, **filters: str | int | bool | None) -> DeadLetterPage:
        answer = self._call("GET", "", params=filters)
        return DeadLetterPage(
            answer["items"], answer["next"], answer["matching"], answer["open"], answer["now"]
        )

    def summary(self, **filters: str | None) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = self._call("GET", "/summary", params=filters)["groups"]
        return groups

    def full(self, dead: str) -> dict[str, Any]:
        return self._call("GET", f"/{quote(dead, safe='')}")

    def outcomes(self, dead: Sequence[str]) -> list[ReplayOutcome]:
        """Returns the outcomes of these replays, at most `MAX_BULK`."""
        answer = self._call("POST", "/outcomes", json={"ids": list(dead)})
        return [ReplayOutcome.model_validate(one) for one in answer["outcomes"]]

    def replay(self, dead: str, decision: DecisionNote) -> DeadLetter:
        answer = self._call("POST", f"/{quote(dead, safe='')}/replay", json=decision.body())
        return DeadLetter.model_validate(answer)

    def replay_many(
        self, selection: DeadLetterSelection, decision: DecisionNote, after: str | None, limit: int
    ) -> DecidedChunk:
        """Replays selected open dead letters, oldest first, beginning after the given one."""
        answer = self._many("/replay", selection, decision, after, limit)
        return DecidedChunk([replay["id"] for replay in answer["replays"]], answer["next"])

    def discard(self, dead: str, decision: DecisionNote) -> DeadLetter:
        answer = self._call("POST", f"/{quote(dead, safe='')}/discard", json=decision.body())
        return DeadLetter.model_validate(answer)

    def discard_many(
        self, selection: DeadLetterSelection, decision: DecisionNote, after: str | None, limit: int
    ) -> DecidedChunk:
        """Discards selected open dead letters, oldest first, beginning after the given one."""
        answer = self._many("/discard", selection, decision, after, limit)
        return DecidedChunk(answer["ids"], answer["next"])

    def _many(
        self, path: str, selection: DeadLetterSelection, decision: DecisionNote, after: str | None, limit: int
    ) -> dict[str, Any]:
        place = {"after": after} if after else {}
        return self._call("POST", path, json=selection.body() | decision.body() | place | {"limit": limit})

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        return self._ask(method, f"/v1/dead-letters{path}", **request)


MonitorUrl = Annotated[str | None, MonitorClient.address_option()]
