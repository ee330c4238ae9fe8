"""Moves an entry of the calendar: a post of an account or of the built-in feed, or an article."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from brandctl.calendar import week_view
from brandctl.errors import CommandError, UsageError
from brandctl.times import with_offset
from client.pages import read_if_known
from client.services.orchestrator import Orchestrator
from client.services.social import Social

if TYPE_CHECKING:
    from client.services.social import answers

_FEED: Final = "feed"


@dataclass(frozen=True, slots=True)
class NewTime:
    """The new place of an entry; without any of these, the next free slot."""

    at: str | None = None
    now: bool = False
    first: bool = False
    off: bool = False

    @property
    def approval(self) -> dict[str, Any]:
        """The fields of an approval's request."""
        return {} if self.at is None else {"publish_at": self.at}

    def check_time(self, why: str) -> None:
        """Raises UsageError if it is a slot."""
        if not (self.at or self.now or self.off):
            raise UsageError(f"{why}: give --at TIME, --now or --off")


def move(social: Social, orchestrator: Orchestrator, entry_id: UUID, to: NewTime) -> tuple[Any, str]:
    """Moves the entry; returns the service's answer and a sentence about it.

    Raises:
        ClientError: the service refuses; the message says why.
        UsageError: the move is possible only for posts of accounts.
    """
    if (post := read_if_known(social.get_post, entry_id)) is None:
        return _move_article(orchestrator, entry_id, to)
    if post["channel"] == _FEED:
        return _move_in_feed(social, post, to)
    if to.first:
        entry = social.move_post_first(entry_id)
    elif to.off:
        entry = social.call_off_post(entry_id)
    else:
        given: dict[str, Any] = {"now": True} if to.now else {} if to.at is None else {"at": to.at}
        entry = social.move_post(entry_id, **given)
    where, state = week_view.where({**entry}), week_view.state({**entry})
    return entry, f"“{entry['title']}” on {where}: {state}, {with_offset(entry['at'])}"


def find_brand(social: Social, orchestrator: Orchestrator, entry_id: UUID) -> str:
    """Returns the slug of the brand of a post or an article.

    Raises:
        CommandError: neither service knows the id.
        ClientError: one cannot be reached.
    """
    found = read_if_known(social.get_post, entry_id) or read_if_known(orchestrator.get_draft, entry_id)
    if found is None:
        raise CommandError(
            f"neither a post nor an article has the id {entry_id}; brandctl calendar week shows ids"
        )
    return found["brand_slug"]


def _move_in_feed(social: Social, post: "answers.PostView", to: NewTime) -> tuple[Any, str]:
    to.check_time("the built-in feed has no slots")
    if to.off:
        answer = social.unschedule_post(post["post_id"])
    else:
        answer = social.approve_post(post["post_id"], version=post["version"], **to.approval)
    return answer, _told(answer["title"], _FEED, answer["state"], answer["publish_at"])


def _move_article(orchestrator: Orchestrator, content_id: UUID, to: NewTime) -> tuple[Any, str]:
    if (draft := read_if_known(orchestrator.get_draft, content_id)) is None:
        raise CommandError(
            f"no post or article has the id {content_id}; brandctl calendar week shows ids. An expected entry can be moved"
            " once the post before it is sent"
        )
    planned = draft["scheduled"]
    if planned is None:
        raise CommandError(
            f"“{draft['title']}” has no time to change: it is {draft['state']}; to give it one:"
            f" brandctl drafts approve {content_id} --at TIME"
        )
    to.check_time("an article has no slots")
    if to.off:
        answer = orchestrator.unschedule_draft(content_id)
    else:
        # The approved version is published, even if there is a newer one.
        answer = orchestrator.approve_draft(
            content_id, version=planned["version"], despite_newer=True, **to.approval
        )
    planned = answer["scheduled"]
    return answer, _told(answer["title"], "site", answer["state"], planned and planned["publish_at"])


def _told(title: str, where: str, state: str, at: str | None) -> str:
    return f"“{title}” on {where}: {state}{f', {with_offset(at)}' if at else ''}"
