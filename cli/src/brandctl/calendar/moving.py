"""Has what the calendar shows go out at another time: a post of an account, one of the built-in feed, or an article."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import httpx

from brandctl.asking import ServiceError
from brandctl.calendar import week_view
from brandctl.calendar.clients import CalendarArticlesClient, CalendarPostsClient
from brandctl.errors import CommandError, UsageError

_FEED: Final = "feed"


@dataclass(frozen=True, slots=True)
class NewTime:
    """Where to; with nothing of it, into the next free slot."""

    at: str | None = None
    now: bool = False
    first: bool = False
    off: bool = False

    @property
    def is_slot(self) -> bool:
        return not (self.at or self.now or self.off)

    @property
    def approval(self) -> dict[str, Any]:
        """As it is said with an approval."""
        return {} if self.at is None else {"publish_at": self.at}


def move(
    posts: CalendarPostsClient, articles: CalendarArticlesClient, entry_id: UUID, to: NewTime
) -> tuple[dict[str, Any], str]:
    """What the service answers, and what to tell of it.

    Raises:
        ServiceError: it is refused; the message says why.
        UsageError: what is asked for is for posts of accounts alone.
    """
    if (post := _found(posts.post, entry_id)) is None:
        return _article(articles, entry_id, to)
    if post["channel"] == _FEED:
        return _of_feed(posts, post, to)
    if to.first or to.off:
        entry = posts.put(entry_id, "first" if to.first else "call-off")
    else:
        entry = posts.move(entry_id, **({"now": True} if to.now else {} if to.at is None else {"at": to.at}))
    return entry, (
        f"“{entry['title']}” on {week_view.where(entry)}: {week_view.state(entry)}, {_moment(entry['at'])}"
    )


def find_brand(posts: CalendarPostsClient, articles: CalendarArticlesClient, entry_id: UUID) -> str:
    """The slug of the brand that a post or an article is of.

    Raises:
        CommandError: neither service knows the id, or one of them could not be asked.
    """
    for ask in (posts.post, articles.draft):
        if (found := _found(ask, entry_id)) is not None:
            return str(found["brand_slug"])
    raise CommandError(
        f"neither a post nor an article has the id {entry_id}; brandctl calendar week shows ids"
    )


def _of_feed(posts: CalendarPostsClient, post: dict[str, Any], to: NewTime) -> tuple[dict[str, Any], str]:
    _demand_time(to, "the built-in feed has no slots")
    post_id = UUID(post["post_id"])
    if to.off:
        answer = posts.decide(post_id, "unschedule")
    else:
        answer = posts.decide(post_id, "approve", version=post["version"], **to.approval)
    return answer, _told(answer["title"], _FEED, answer["state"], answer["publish_at"])


def _article(articles: CalendarArticlesClient, content_id: UUID, to: NewTime) -> tuple[dict[str, Any], str]:
    if (draft := _found(articles.draft, content_id)) is None:
        raise CommandError(
            f"nothing that could be moved has the id {content_id}; brandctl calendar week shows ids, and what is expected"
            " there can be moved once the post before it is out"
        )
    planned = draft.get("scheduled")
    if planned is None:
        raise CommandError(
            f"“{draft['title']}” has no time that could be changed: it is {draft['state']}; to give it one:"
            f" brandctl drafts approve {content_id} --at TIME"
        )
    _demand_time(to, "an article has no slots")
    if to.off:
        answer = articles.decide(content_id, "unschedule")
    else:
        # What was approved is what is published, whatever has been written since.
        answer = articles.decide(
            content_id, "approve", version=planned["version"], despite_newer=True, **to.approval
        )
    planned = answer.get("scheduled")
    return answer, _told(answer["title"], "site", answer["state"], planned and planned["publish_at"])


def _demand_time(to: NewTime, why: str) -> None:
    if to.is_slot:
        raise UsageError(f"{why}: say --at TIME, --now or --off")


def _found(asked: Any, entry_id: UUID) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = asked(entry_id)
    except ServiceError as error:
        if error.status != httpx.codes.NOT_FOUND:
            raise
        return None
    return found


def _told(title: str, where: str, state: str, at: str | None) -> str:
    return f"“{title}” on {where}: {state}{f', {_moment(at)}' if at else ''}"


def _moment(time: str) -> str:
    return datetime.fromisoformat(time).isoformat(sep=" ", timespec="minutes")
