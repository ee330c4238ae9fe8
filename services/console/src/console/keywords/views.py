"""Contents of the pages about keywords, made from the services' answers. Pure: no I/O, no clock."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from console.money.views import MICROS, dollars
from console.texts import Texts

STATES: Final = (
    "queued",
    "writing",
    "publishing",
    "promoting",
    "completed",
    "needs_review",
    "refused",
    "rejected",
    "failed",
    "cancelled",
)
ENDED: Final = frozenset({"completed", "refused", "rejected", "failed", "cancelled"})
TONES: Final = {
    "completed": "good",
    "needs_review": "warn",
    "refused": "warn",
    "rejected": "warn",
    "failed": "bad",
    "cancelled": "quiet",
}
"""How a state is coloured; the state's word stands beside the colour."""
_STOPPED: Final = frozenset({"stuck", "failed", "refused"})
STEPS: Final = ("submitted", "research", "writing", "publishing", "done")
_REACHED: Final = {
    "queued": 1,
    "writing": 2,
    "needs_review": 2,
    "publishing": 3,
    "promoting": 4,
    "completed": 5,
}
_NAMED_STEPS: Final = frozenset(
    {
        "fetch_research",
        "write_article",
        "ask_research",
        "fetch_answers",
        "earlier_titles",
        "brief",
        "outline",
        "outline_again",
        "edit",
        "judge_edit",
        "front",
    }
)
"""Steps of the writing that have a sentence of their own, below `keywords.event.step`."""
_SECTION: Final = re.compile(r"section ([0-9]{1,4})(\.mend|\.judge)?")
_ID: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,9})")
_CODE: Final = re.compile(r"([a-z]+(?:_[a-z]+)+)\s*[:(]\s*")
_OVER_LIMIT: Final = re.compile(r"the deadline of |the cost limit was reached ")
_POST_WAITS: Final = re.compile(r"needs_review: post [0-9a-f-]{36} waits for a person")
_CSV_HEADER: Final = re.compile(r'^\s*(?:[\w"]+\s*[,;\t]\s*)*"?keyword"?\s*(?:[,;\t]|$)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeywordId:
    """A keyword's cycle and its place in it, as its address has them."""

    cycle_id: str
    position: int

    @classmethod
    def of(cls, text: str) -> "KeywordId | None":
        found = _ID.fullmatch(text)
        return None if found is None else cls(found[1], int(found[2]))

    @property
    def behind(self) -> str:
        """The cursor of a list with this keyword first: the list is in falling order."""
        return f"{self.cycle_id}.{self.position + 1}"


def path_of(brand: str, cycle_id: str, position: int) -> str:
    """The path of a keyword's page; positions in a list begin at 1."""
    return f"/b/{brand}/keywords/{cycle_id}.{position}"


@dataclass(frozen=True, slots=True)
class KeywordLine:
    """A keyword in a list."""

    id: str
    keyword: str
    state: str
    tone: str
    priority: str
    submitted_at: str
    moved_at: str
    reason: str
    """Why it waits, was refused or failed; empty if all goes well."""
    until: str | None
    url: str | None
    content_id: str | None


def keyword_line(item: Mapping[str, Any]) -> KeywordLine:
    return KeywordLine(
        id=f"{item['cycle_id']}.{item['position']}",
        keyword=item["keyword"],
        state=item["state"],
        tone=TONES.get(item["state"], "plain"),
        priority=item["priority"],
        submitted_at=item["accepted_at"],
        moved_at=item["moved_at"],
        reason=without_code(item["waits"] or item["reason"] or ""),
        until=item["waits_until"],
        url=item["published_url"],
        content_id=item["content_id"],
    )


def without_code(reason: str) -> str:
    """The sentences of a reason, without codes for programs and ids."""
    reason = _POST_WAITS.sub("its post waits for a person", reason)
    found = _CODE.match(reason)
    if found is None:
        return reason
    rest = reason[found.end() :]
    sentence = rest[:-1] if found[0].rstrip().endswith("(") and rest.endswith(")") else rest
    return sentence[:1].upper() + sentence[1:]


@dataclass(frozen=True, slots=True)
class KeywordStep:
    """A station of a keyword's way, for the line at the head of its page."""

    name: str
    state: str
    """`done`, `now`, `stopped` or `ahead`."""


def steps_of(item: Mapping[str, Any]) -> tuple[KeywordStep, ...]:
    """Where a keyword stands on its way; one that ended badly stopped where its times end."""
    state, times = item["state"], item["times"]
    reached = _REACHED.get(state)
    if reached is None:
        reached = 3 if times["published_at"] else 2 if times["writing_asked_at"] else 1
    here = "stopped" if state in ENDED else "now"
    return tuple(
        KeywordStep(name, "done" if place < reached else here if place == reached else "ahead")
        for place, name in enumerate(STEPS)
    )


@dataclass(frozen=True, slots=True)
class KeywordAdvice:
    """Advice on a keyword that is held up."""

    key: str
    """Of the text, below `keywords.advice`."""
    path: str | None = None
    """Where to do it; None: on the page itself."""


def advice_for(
    item: Mapping[str, Any], workflow: Mapping[str, Any] | None = None
) -> tuple[KeywordAdvice, ...]:
    """What would help a keyword that waits, was refused or failed; empty if nothing is to be done."""
    brand, state, reason = item["brand_slug"], item["state"], item["reason"] or ""
    waits, again = item["waits"] or "", KeywordAdvice("again")
    found: dict[str, tuple[KeywordAdvice, ...]] = {
        "refused": (KeywordAdvice("other_limits"),)
        if _OVER_LIMIT.match(reason)
        else (KeywordAdvice("other_words"), again),
        "failed": (again,),
        "rejected": (again,),
        "cancelled": (again,),
        "needs_review": (KeywordAdvice("review", f"/b/{brand}/drafts/{item['content_id']}"),),
    }
    if state == "refused" and reason.startswith("insufficient_sources"):
        return KeywordAdvice("more_documents", f"/b/{brand}/sources"), *found["refused"]
    if state == "completed" and "needs_review" in reason:
        return (KeywordAdvice("approve_post", f"/b/{brand}/posts?state=waiting"),)
    if state == "completed" and item["has_standing_article"]:
        return (KeywordAdvice("standing", f"/b/{brand}/articles/{item['content_id']}"),)
    if state == "queued" and "drafts" in waits and "review" in waits:
        return (KeywordAdvice("look_at_drafts", f"/b/{brand}/drafts"),)
    if state == "writing" and workflow and workflow["state"] == "stuck":
        return (KeywordAdvice("retry_writing"),)
    return found.get(state, ())


@dataclass(frozen=True, slots=True)
class KeywordLimits:
    """What the request of a keyword may take, and what it has cost; None: no limit, or not known."""

    deadline: str | None
    max_cost: str | None
    spent: str | None


def limits_of(item: Mapping[str, Any], calls: Any, t: Texts) -> KeywordLimits | None:
    """The limits of a keyword's request, and its cost if the gateway told it; None if there is nothing to show.

    Args:
        item: the keyword; an orchestrator of a version before tells no limits.
        calls: the gateway's answer about the chain; anything else if there is none.
        t: the reader's texts.
    """
    cost = item.get("max_cost")
    told = calls if isinstance(calls, Mapping) and calls["calls"] else None
    found = KeywordLimits(
        item.get("deadline"),
        None if cost is None else dollars(round(cost * MICROS), t),
        None if told is None else dollars(told["spent"], t),
    )
    return found if any((found.deadline, found.max_cost, found.spent)) else None


@dataclass(frozen=True, slots=True)
class KeywordEvent:
    """An event in a keyword's history."""

    at: str | None
    key: str
    """Of the text, below `keywords.event`."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    """In the words of a service or a person."""
    url: str | None = None
    tone: str = "plain"


def events_of(
    item: Mapping[str, Any],
    *,
    workflow: Mapping[str, Any] | None,
    content: Mapping[str, Any] | None,
    decisions: Sequence[Mapping[str, Any]],
    letters: Sequence[Mapping[str, Any]],
) -> list[KeywordEvent]:
    """A keyword's history, the earliest first; events without a time come last."""
    events = [
        *_course(item),
        *_writing(workflow or {}),
        *_article(content or {}),
        *(_decision(each) for each in decisions),
        *_results(item),
        *(
            KeywordEvent(
                each["failed_at"], "dead_letter", {"type": each["type"] or "?"}, each["detail"], tone="bad"
            )
            for each in letters
        ),
    ]
    timed = sorted((each for each in events if each.at), key=lambda each: _moment(each.at))
    return [*timed, *(each for each in events if not each.at), _last(item)]


def _moment(at: str | None) -> datetime:
    return datetime.fromisoformat(at or "")


def _course(item: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    by = item["submitted_by"]
    yield KeywordEvent(item["accepted_at"], "submitted_by" if by else "submitted", {"by": by} if by else {})
    times = item["times"]
    for name, key in (
        ("research_asked_at", "turn"),
        ("researched_at", "researched"),
        ("writing_asked_at", "writing"),
        ("published_at", "published"),
    ):
        if times[name]:
            url = item["published_url"] if key == "published" else None
            yield KeywordEvent(times[name], key, url=url, tone="good" if key == "published" else "plain")


def _writing(workflow: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    for step in workflow.get("steps", ()):
        if step["finished_at"]:
            yield KeywordEvent(step["finished_at"], *_step(step["name"]))
    if workflow.get("retried_at"):
        yield KeywordEvent(workflow["retried_at"], "retried", {"by": workflow["retried_by"]})
    if workflow.get("cancelled_at"):
        yield KeywordEvent(workflow["cancelled_at"], "cancelled", {"by": workflow["cancelled_by"]})
    if workflow.get("problem") and workflow["state"] in _STOPPED:
        yield KeywordEvent(workflow["last_sign_at"], "problem", detail=workflow["problem"], tone="bad")


def _step(name: str) -> tuple[str, dict[str, Any]]:
    """Returns the text of a step of the writing, and its fields: `model:section 2.mend` is `step.mend`."""
    rest = name.removeprefix("model:")
    section = _SECTION.match(rest)
    if rest.endswith(".repair"):
        return "step.repair", {}
    if section is not None:
        kind = {"": "section", ".mend": "mend", ".judge": "judge"}.get(section[2] or "", "other")
        return (f"step.{kind}", {"part": int(section[1])}) if kind != "other" else ("step.other", {})
    key = "judge_edit" if rest.startswith("edit.judge") else rest.replace(" ", "_")
    return (f"step.{key}", {}) if key in _NAMED_STEPS else ("step.other", {})


def _article(content: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    if content:
        told = {"title": content["title"], "n": content["word_count"]}
        yield KeywordEvent(content["created_at"], "article", told)
    if content.get("taken_down_at"):
        yield KeywordEvent(
            content["taken_down_at"], "taken_down", detail="; ".join(content["held_for"]), tone="warn"
        )


def _decision(each: Mapping[str, Any]) -> KeywordEvent:
    return KeywordEvent(each["at"], f"decision.{each['decision']}", {"by": each["by"]}, each["comment"])


def _results(item: Mapping[str, Any]) -> Iterator[KeywordEvent]:
    for each in item["placements"]:
        key = f"placement.{each['state']}"
        yield KeywordEvent(
            each["answered_at"] or each["asked_at"],
            key,
            {"target": each["target"]},
            each["reason"] or "",
            each["url"],
        )
    for each in item["posts"]:
        yield KeywordEvent(
            each["posted_at"], "posted", {"channel": each["platform"]}, url=each["url"], tone="good"
        )


def _last(item: Mapping[str, Any]) -> KeywordEvent:
    state = item["state"]
    at = (item["times"]["ended_at"] if state in ENDED else None) or item["moved_at"]
    detail = without_code(item["reason"] or item["waits"] or "")
    return KeywordEvent(at, f"now.{state}", detail=detail, tone=TONES.get(state, "plain"))


def list_type(text: str) -> str:
    """The media type of a pasted list: a table's first line names the column `keyword`."""
    first = text.lstrip("\ufeff").split("\n", 1)[0].strip()
    return "text/csv" if _CSV_HEADER.match(first) else "text/plain"


def with_chosen(text: str, chosen: Sequence[str]) -> str:
    """The list with the suggested keywords that a person has checked, as further lines or rows."""
    lines = [" ".join(each.split()) for each in chosen]
    if not lines:
        return text
    before = text.rstrip("\n") + "\n" if text.strip() else ""
    if list_type(text) == "text/plain":
        return before + "\n".join(lines)
    columns = next(csv.reader([text.lstrip("\ufeff").split("\n", 1)[0]]))
    names = [each.strip().lower() for each in columns]
    rows = io.StringIO()
    csv.writer(rows, lineterminator="\n").writerows(
        [[line if name == "keyword" else "" for name in names] for line in lines]
    )
    return before + rows.getvalue()


def suggested(topics: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Subjects with enough text in the brand's documents for an article, without those submitted before."""
    known = {each.casefold() for each in before["spellings"]} if before else set()
    found = topics["items"] if topics else []
    return [each for each in found if each["quotable"] and each["keyword"].casefold() not in known]


def count_quoted_briefly(topics: Mapping[str, Any] | None) -> int:
    """How many subjects are not suggested, as articles may only quote their documents briefly."""
    return sum(not each["quotable"] for each in topics["items"]) if topics else 0


def count_entries(text: str) -> int:
    """Lines of a pasted list that are not blank, without a table's header."""
    lines = sum(1 for line in text.splitlines() if line.strip())
    return max(lines - 1, 0) if list_type(text) == "text/csv" else lines


def why(item: Mapping[str, Any]) -> str:
    """Which heading stands above a keyword's reason: a text below `keywords.why`."""
    if item["waits"]:
        return "waits"
    if item["state"] == "refused":
        return "refused"
    return "ended" if item["state"] in ENDED - {"completed"} else "note"
