"""What the page of a chain shows. Pure: no I/O."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from client import message_chains
from client.message_chains import TreeLine
from console.money.views import MICROS, dollars
from console.texts import Texts

if TYPE_CHECKING:
    from client.services.orchestrator import KeywordState

PAGE_SIZE: Final = 100
MOST_FAILURES: Final = 50
"""Dead letters, and waiting messages of a service."""
COLUMNS: Final = (
    "at", "service", "message_id", "caused_by", "type", "state", "queue", "ended_at", "waited_seconds", "worked_seconds",
    "attempts_made", "due_at", "attempt", "waits_for", "exception_type", "detail",
)  # fmt: skip
"""Of the files."""
CALL_COLUMNS: Final = (
    "began_at", "ended_at", "took_seconds", "kind", "target", "subject", "state", "problem", "spent_dollars", "brand", "id",
)  # fmt: skip
"""Of the files of calls."""
CALLS_SIZE: Final = 50
JSON_COLUMNS: Final = (*COLUMNS, "attempts")
UNDER_WAY: Final["tuple[KeywordState, ...]"] = (
    "queued",
    "writing",
    "publishing",
    "promoting",
    "needs_review",
)
"""States of keywords that go on."""
MOST_KEYWORDS: Final = 10
"""Of each of these states, and of the last ones of a chain."""
_BEFORE: Final = timedelta(minutes=5)
"""Clocks may differ by as much."""
_TIMED: Final = 7
_OPEN: Final = ("open", "replaying")


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call of the gateway, as the page shows it."""

    began_at: str
    took: str
    """Empty while it is under way."""
    kind: str
    target: str
    subject: str
    outcome: str
    """A text below `chains.call_outcomes`."""
    problem: str | None
    cost: str


def calls_of(answer: Any, t: Texts) -> list[CallLine]:
    """Returns the calls that the gateway made for the chain, the oldest first."""
    items = answer["items"] if isinstance(answer, Mapping) else ()
    return [
        CallLine(
            each["began_at"],
            "" if (took := _took(each)) is None else message_chains.duration(took),
            each["kind"],
            each["target"],
            each["subject"],
            _outcome(each),
            each["problem"],
            dollars(each["spent"], t) if each["spent"] else "",
        )
        for each in items
    ]


def spent_of(answer: Any, t: Texts) -> str:
    """Returns what all calls of the chain cost; empty if that is nothing."""
    return dollars(answer["spent"], t) if isinstance(answer, Mapping) and answer.get("spent") else ""


def call_row(call: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a call as a row of the files."""
    return {**call, "took_seconds": _took(call), "spent_dollars": call["spent"] / MICROS}


def _took(call: Mapping[str, Any]) -> float | None:
    if call["ended_at"] is None:
        return None
    began, ended = (datetime.fromisoformat(call[name]) for name in ("began_at", "ended_at"))
    return (ended - began).total_seconds()


def _outcome(call: Mapping[str, Any]) -> str:
    if call["problem"]:
        return "failed"
    return {"settled": "answered", "presumed": "presumed", "released": "not_sent"}.get(
        call["state"], "under_way"
    )


def waiting_of(answers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages that wait for another attempt, the next to be due first."""
    found = (
        {"service": service, **item}
        for service, answer in answers.items()
        if isinstance(answer, Mapping)
        for item in answer["items"]
    )
    return sorted(found, key=lambda each: (datetime.fromisoformat(each["due_at"]), each["message_id"]))


def running_of(answers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages of the chain that are in handlers, of the services' lists, the longest running first."""
    found = (
        {"service": service, **item}
        for service, answer in answers.items()
        if isinstance(answer, Mapping)
        for item in answer["running"] or ()
    )
    return sorted(found, key=lambda each: (datetime.fromisoformat(each["since"]), each["message_id"]))


def letters_of(answer: Any) -> list[Mapping[str, Any]]:
    """Returns the dead letters of the chain, the open ones first."""
    items = answer["items"] if isinstance(answer, Mapping) else ()
    return sorted(items, key=lambda each: each["state"] not in _OPEN)


def since_of(answers: Iterable[Any]) -> str | None:
    """Returns the time since which every service that answered has recorded chains."""
    times = [answer["chains_since"] for answer in answers if isinstance(answer, Mapping)]
    return max(times, key=datetime.fromisoformat, default=None)


def id_of(text: str) -> UUID | None:
    """Returns the id that a text is; None if it is none."""
    try:
        return UUID(text)
    except ValueError:
        return None


def lines_of(messages: Iterable[Mapping[str, Any]], *, as_tree: bool) -> tuple[TreeLine, ...]:
    """Returns messages in the order of the tree or as they are."""
    if as_tree:
        return message_chains.tree(tuple(messages))
    return tuple(TreeLine(0, each, is_cut_off=False) for each in messages)


def row_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a message as a row of the files."""
    times = message_chains.times_of(message)
    return {
        **message,
        "waited_seconds": times.waited,
        "worked_seconds": times.worked,
        "attempts_made": attempts_made(message),
    }


def attempts_made(message: Mapping[str, Any]) -> int:
    """Returns how many attempts have ended, as far as they are recorded."""
    recorded = [each["attempt"] for each in message["attempts"]]
    return max(recorded, default=int(message["ended_at"] is not None))


def has_more(answer: Any) -> bool:
    """Returns whether a list came and has a further page."""
    return isinstance(answer, Mapping) and answer["next"] is not None


def those_in(states: Collection[str], answer: Any) -> dict[str, Any]:
    """Returns the part of a list that is in these states; the list of a service that is away is empty."""
    items = answer["items"] if isinstance(answer, Mapping) else ()
    return {"items": [each for each in items if each["state"] in states]}


def keywords_of(answers: Iterable[Any], correlation_id: str) -> list[Mapping[str, Any]]:
    """Returns the keywords of the chain in the answers that came; an orchestrator of a version before knows no such filter."""
    return [each for each in _items_of(answers) if each["correlation_id"] == correlation_id]


def _items_of(answers: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [item for answer in answers if isinstance(answer, Mapping) for item in answer["items"]]


def chains_of(answers: Iterable[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns each chain of the keywords and messages found, with the first of these."""
    found: dict[str, Mapping[str, Any]] = {}
    for item in _items_of(answers):
        if item["correlation_id"] is not None:
            found.setdefault(item["correlation_id"], item)
    return list(found.items())


def jaeger_search(url: str | None, correlation_id: str, now: datetime) -> str | None:
    """Returns the address of the chain's traces in Jaeger; None without an address of Jaeger."""
    if not url:
        return None
    query = {
        "service": "orchestrator",
        "tags": json.dumps({"correlation_id": correlation_id}),
        "lookback": "custom",
        "start": round((_made_at(correlation_id) or now - timedelta(days=2)).timestamp() * 1e6),
        "end": round((now + _BEFORE).timestamp() * 1e6),
        "limit": 20,
    }
    return f"{url.rstrip('/')}/search?{urlencode(query)}"


def _made_at(correlation_id: str) -> datetime | None:
    try:
        made = UUID(correlation_id)
    except ValueError:
        return None
    if made.version != _TIMED or made.int >> 80 > 2**43:
        return None
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC) - _BEFORE
