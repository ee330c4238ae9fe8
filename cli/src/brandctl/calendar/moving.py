"""Moves an entry of the calendar: a post of an account or of the built-in feed, or an article."""

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
    """The new place of an entry; without any of these, the next free slot."""

    at: str | None = None
    now: bool = False
    first: bool = False
    off: bool = False

    @property
    def is_slot(self) -> bool:
        return not (self.at or self.now or self.off)

    @property
    def approval(self) -> dict[str, Any]:
        """The fields of an approval's request."""
        return {} if self.at is None else {"publish_at": self.at}


def move(
    posts: CalendarPostsClient, articles: CalendarArticlesClient, entry_id: UUID, to: NewTime
) -> tuple[dict[str, Any], str]:
    """Moves the entry; returns the service's answer and a sentence about it.

    Raises:
        ServiceError: the service refuses; the message says why.
        UsageError: the move is possible only for posts of accounts.
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
    """Returns the slug of the brand of a post or an article.

    Raises:
        CommandError: neither service knows the id, or one cannot be reached.
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
            f"no post or article has the id {content_id}; brandctl calendar week shows ids. An expected entry can be moved"
            " once the post before it is sent"
        )
    planned = draft.get("scheduled")
    if planned is None:
        raise CommandError(
            f"“{draft['title']}” has no time to change: it is {draft['state']}; to give it one:"
            f" brandctl drafts approve {content_id} --at TIME"
        )
    _demand_time(to, "an article has no slots")
    if to.off:
        answer = articles.decide(content_id, "unschedule")
    else:
        # The approved version is published, even if there is a newer one.
        answer = articles.decide(
            content_id, "approve", version=planned["version"], despite_newer=True, **to.approval
        )
    planned = answer.get("scheduled")
    return answer, _told(answer["title"], "site", answer["state"], planned and planned["publish_at"])


def _demand_time(to: NewTime, why: str) -> None:
    if to.is_slot:
        raise UsageError(f"{why}: give --at TIME, --now or --off")


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
