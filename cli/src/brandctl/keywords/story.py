"""The history of one keyword: its events in the order of time. Pure: no I/O, no clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

ENDED: Final = frozenset({"completed", "refused", "rejected", "failed", "cancelled"})
"""States of a keyword that has ended."""


@dataclass(frozen=True, slots=True)
class KeywordEvent:
    """An event in a keyword's history."""

    at: str | None
    """ISO 8601, UTC; None: the services store no time."""
    what: str
    detail: str
    id: str | None = None
    """The whole id of the event's object."""
    id_of: str = "id"
    """The word before the id."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def told(self, shown: Mapping[str, str]) -> str:
        """Returns the detail with the id in its `shown` form."""
        return _joined(self.detail, f"{self.id_of} {shown.get(self.id, self.id)}" if self.id else "")


def tell(
    keyword: Mapping[str, Any],
    *,
    workflow: Mapping[str, Any],
    content: Mapping[str, Any],
    decisions: Sequence[Mapping[str, Any]],
    letters: Sequence[Mapping[str, Any]],
) -> list[KeywordEvent]:
    """Makes a keyword's history from the services' answers.

    Args:
        keyword: an item of `GET /v1/keywords`.
        workflow: the answer about its workflow, or empty.
        content: its article, or empty.
        decisions: people's decisions about its article.
        letters: its dead letters.

    Returns:
        Events in the order of time, then events without a time, then the keyword's state.
    """
    happenings = [
        *_course(keyword),
        *_writing(workflow),
        *_article(content),
        *_further_targets(keyword),
        *(
            KeywordEvent(each["at"], each["decision"], _joined(f"by {each['by']}", each["comment"]))
            for each in decisions
        ),
        *(KeywordEvent(each["failed_at"], "dead letter", _letter(each), each["id"]) for each in letters),
        *_results(keyword),
    ]
    timed = sorted((each for each in happenings if each.at), key=lambda each: _moment(each.at))
    untimed = [each for each in happenings if not each.at]
    return [*timed, *untimed, _last(keyword)]


def _course(keyword: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    """The events of its way from service to service."""
    by = f"by {keyword['submitted_by']}" if keyword["submitted_by"] else ""
    yield KeywordEvent(
        keyword["accepted_at"],
        "handed in",
        _joined(by, f"priority {keyword['priority']}"),
        keyword["cycle_id"],
        "cycle",
    )
    times = keyword["times"]
    for at, what, detail in (
        (times["research_asked_at"], "turn came", "research was asked"),
        (times["researched_at"], "researched", ""),
        (times["writing_asked_at"], "sent to writers", ""),
    ):
        if at:
            yield KeywordEvent(at, what, detail)


def _last(keyword: Mapping[str, Any]) -> KeywordEvent:
    """The event of its present state. Later events, such as an approved post, come before it by their time."""
    ended = keyword["state"] in ENDED
    return KeywordEvent(
        keyword["times"]["ended_at"] or keyword["moved_at"] if ended else keyword["moved_at"],
        "ended" if ended else "now",
        _joined(keyword["state"], keyword.get("reason"), keyword.get("waits")),
    )


def _writing(workflow: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    for step in workflow.get("steps", ()):
        if step["finished_at"]:
            tokens = step.get("tokens")
            spent = f"{tokens['read']:,} tokens read, {tokens['written']:,} written" if tokens else ""
            yield KeywordEvent(step["finished_at"], "step done", _joined(step["name"], spent))
    if workflow.get("retried_at"):
        yield KeywordEvent(
            workflow["retried_at"], "retried", f"by {workflow['retried_by']}, {workflow['retries']} in all"
        )
    if workflow.get("cancelled_at"):
        yield KeywordEvent(workflow["cancelled_at"], "cancelled", f"by {workflow['cancelled_by']}")
    if workflow.get("problem"):
        yield KeywordEvent(workflow["last_sign_at"], "problem in writing", workflow["problem"])


def _article(content: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    if not content:
        return
    yield KeywordEvent(
        content["created_at"],
        "article stored",
        f"“{content['title']}”, {content['word_count']} words",
        content["content_id"],
    )
    if sources := content["sources"]:
        yield KeywordEvent(content["created_at"], "sources", "; ".join(_source(each) for each in sources))
    if content.get("taken_down_at"):
        yield KeywordEvent(content["taken_down_at"], "taken down", "; ".join(content["held_for"]))


def _further_targets(keyword: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    for each in keyword.get("placements", ()):
        detail = _joined(each["target"], each["state"], each["url"], each["reason"])
        yield KeywordEvent(each["answered_at"] or each["asked_at"], "further target", detail)


def _results(keyword: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    if keyword.get("published_url"):
        yield KeywordEvent(keyword["times"]["published_at"], "published", keyword["published_url"])
    for each in keyword.get("posts", ()):
        yield KeywordEvent(each["posted_at"], "post", _joined(each["platform"], each["state"], each["url"]))


def _source(source: Mapping[str, Any]) -> str:
    return str(source.get("url") or source.get("path") or source["title"])


def _letter(letter: Mapping[str, Any]) -> str:
    return _joined(
        f"{letter['type']} in {letter['queue']}: {letter['reason']}",
        letter["detail"],
        f"{letter['state']} ({letter['resolution']})" if letter.get("resolution") else letter["state"],
    )


def _moment(at: str | None) -> datetime:
    """Services write times with and without fractions of seconds, so their texts do not sort."""
    return datetime.fromisoformat(at or "")


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)
