"""The story of one keyword: what happened to it and when, in the order of time. Pure: no I/O, no clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

ENDED: Final = frozenset({"completed", "refused", "rejected", "failed", "cancelled"})
"""States of a keyword that has ended."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to a keyword."""

    at: str | None
    """ISO 8601, UTC; None: the services keep no time of it."""
    what: str
    detail: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def tell(
    keyword: Mapping[str, Any],
    *,
    workflow: Mapping[str, Any],
    content: Mapping[str, Any],
    decisions: Sequence[Mapping[str, Any]],
    letters: Sequence[Mapping[str, Any]],
) -> list[Happening]:
    """What the services' answers say of a keyword.

    Args:
        keyword: an item of `GET /v1/keywords`.
        workflow: the answer about its writing; empty if there is none.
        content: its article; empty if there is none.
        decisions: what people decided about its article.
        letters: its dead letters.

    Returns:
        What has a time, in the order of time; behind that what has none, and at last how the keyword stands.
    """
    happenings = [
        Happening(
            keyword["accepted_at"],
            "accepted",
            f"in cycle {keyword['cycle_id']}, priority {keyword['priority']}",
        ),
        *_writing(workflow),
        *_article(content),
        *_further_targets(keyword),
        *(
            Happening(each["at"], each["decision"], _joined(f"by {each['by']}", each["comment"]))
            for each in decisions
        ),
        *(Happening(each["failed_at"], "dead letter", _letter(each)) for each in letters),
    ]
    timed = sorted(happenings, key=lambda each: each.at or "")
    last = Happening(
        keyword["moved_at"],
        "ended" if keyword["state"] in ENDED else "now",
        _joined(keyword["state"], keyword.get("reason"), keyword.get("waits")),
    )
    return [*timed, *_results(keyword), last]


def _writing(workflow: Mapping[str, Any]) -> Iterator[Happening]:
    for step in workflow.get("steps", ()):
        if step["finished_at"]:
            tokens = step.get("tokens")
            spent = f"{tokens['read']:,} tokens read, {tokens['written']:,} written" if tokens else ""
            yield Happening(step["finished_at"], "step done", _joined(step["name"], spent))
    if workflow.get("retried_at"):
        yield Happening(
            workflow["retried_at"], "retried", f"by {workflow['retried_by']}, {workflow['retries']} in all"
        )
    if workflow.get("cancelled_at"):
        yield Happening(workflow["cancelled_at"], "cancelled", f"by {workflow['cancelled_by']}")
    if workflow.get("problem"):
        yield Happening(workflow["last_sign_at"], "problem in writing", workflow["problem"])


def _article(content: Mapping[str, Any]) -> Iterator[Happening]:
    if not content:
        return
    yield Happening(
        content["created_at"], "article stored", f"“{content['title']}”, {content['word_count']} words"
    )
    if sources := content["sources"]:
        yield Happening(content["created_at"], "sources", "; ".join(_source(each) for each in sources))
    if content.get("taken_down_at"):
        yield Happening(content["taken_down_at"], "taken down", "; ".join(content["held_for"]))


def _further_targets(keyword: Mapping[str, Any]) -> Iterator[Happening]:
    for each in keyword.get("placements", ()):
        detail = _joined(each["target"], each["state"], each["url"], each["reason"])
        yield Happening(each["answered_at"] or each["asked_at"], "further target", detail)


def _results(keyword: Mapping[str, Any]) -> Iterator[Happening]:
    if keyword.get("published_url"):
        yield Happening(None, "published", keyword["published_url"])
    for each in keyword.get("posts", ()):
        yield Happening(None, "post", _joined(each["platform"], each["state"], each["url"]))


def _source(source: Mapping[str, Any]) -> str:
    return str(source.get("url") or source.get("path") or source["title"])


def _letter(letter: Mapping[str, Any]) -> str:
    return _joined(
        f"{letter['type']} in {letter['queue']}: {letter['reason']}",
        letter["detail"],
        f"{letter['state']} ({letter['resolution']})" if letter.get("resolution") else letter["state"],
        str(letter["id"]),
    )


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)
