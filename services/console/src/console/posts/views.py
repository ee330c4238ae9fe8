"""Contents of the pages about posts, made from the services' answers. Pure: no I/O; the time is an argument."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from console.list_filters import safe_link

STATES: Final = (
    "waiting",
    "scheduled",
    "sending",
    "in_doubt",
    "failed",
    "posted",
    "called_off",
    "rejected",
)
TONES: Final = {
    "waiting": "warn",
    "in_doubt": "bad",
    "failed": "bad",
    "posted": "good",
    "called_off": "quiet",
    "rejected": "quiet",
}
LATE: Final = timedelta(minutes=1)
"""After so much time a post that is due is no longer just planned."""
_SNIPPET: Final = 160


@dataclass(frozen=True, slots=True)
class PostWait:
    """The reason why a post waits, as a text of the catalogue below `posts.wait`."""

    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    """In the service's words."""


def post_wait(post: Mapping[str, Any], now: datetime) -> PostWait | None:
    """The reason why an open or failed post waits; None for one that has ended well or for good.

    Args:
        post: an item of a list of posts, or one post.
        now: the present time.
    """
    state, detail, retry = post["state"], post.get("detail") or "", post.get("retry_at")
    due = post.get("due_at") or post.get("publish_at")
    found: dict[str, tuple[str, dict[str, Any]]] = {
        "waiting": ("approval", {"since": post["since"]}),
        "sending": ("retry", {"at": retry}) if retry else ("sending", {}),
        "in_doubt": ("doubt", {}),
        "failed": ("failed", {}),
    }
    if state == "scheduled":
        if due and now - datetime.fromisoformat(due) < LATE:
            return PostWait("time", {"at": due})
        if retry and datetime.fromisoformat(retry) > now:
            return PostWait("late_held", {"due": due, "at": retry}, detail)
        return PostWait("late", {"due": due or post["since"]}, detail)
    return PostWait(*found[state], detail) if state in found else None


@dataclass(frozen=True, slots=True)
class PostLine:
    """A post in a list."""

    id: str
    place: str
    """The account, or the channel."""
    channel: str
    state: str
    tone: str
    title: str
    snippet: str
    at: str
    wait: PostWait | None
    url: str | None


def post_line(post: Mapping[str, Any], now: datetime) -> PostLine:
    text = " ".join(post["text"].split())
    return PostLine(
        id=post["post_id"],
        place=post["account"] or post["channel"],
        channel=post["channel"],
        state=post["state"],
        tone=TONES.get(post["state"], "plain"),
        title=post["title"],
        snippet=text if len(text) <= _SNIPPET else text[: _SNIPPET - 1].rstrip() + "…",
        at=post["at"],
        wait=post_wait(post, now),
        url=safe_link(post["post_url"]),
    )


@dataclass(frozen=True, slots=True)
class LengthCount:
    """How much of a channel's limit a text uses."""

    unit: str
    used: int
    maximum: int

    @property
    def left(self) -> int:
        return self.maximum - self.used

    @property
    def is_over(self) -> bool:
        return self.used > self.maximum


def lengths_of(post: Mapping[str, Any]) -> tuple[LengthCount, ...]:
    return tuple(LengthCount(each["unit"], each["used"], each["maximum"]) for each in post["counts"])


@dataclass(frozen=True, slots=True)
class PostActions:
    """The actions that a post's state allows."""

    edit: bool
    approve: bool
    unschedule: bool
    reject: bool
    retry: bool
    settle: bool
    """Whether a person has to say if it is out."""


def actions_for(post: Mapping[str, Any]) -> PostActions:
    state = post["state"]
    is_open = state in {"waiting", "scheduled"}
    return PostActions(
        edit=is_open,
        approve=is_open,
        unschedule=state == "scheduled",
        reject=is_open,
        retry=state == "failed",
        settle=state == "in_doubt",
    )


@dataclass(frozen=True, slots=True)
class LinkCard:
    """The card that a network shows for the link of a post."""

    host: str
    title: str
    url: str


def link_card(post: Mapping[str, Any]) -> LinkCard | None:
    url = safe_link(post["link"])
    if url is None:
        return None
    return LinkCard(url.split("/")[2], post["title"], url)


@dataclass(frozen=True, slots=True)
class PostEvent:
    """A decision about a post, or an attempt to send it."""

    at: str
    key: str
    by: str
    detail: str


def history_of(
    decisions: Iterable[Mapping[str, Any]], attempts: Iterable[Mapping[str, Any]]
) -> list[PostEvent]:
    """What happened to a post, the earliest first."""
    found = [PostEvent(each["at"], each["decision"], each["by"], each["comment"]) for each in decisions]
    found += [PostEvent(each["made_at"], each["event"], each["made_by"], each["detail"]) for each in attempts]
    return sorted(found, key=lambda each: datetime.fromisoformat(each.at))
