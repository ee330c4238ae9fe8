"""Posts that failed because their account took none: which these are, and how they go on once it is connected again."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from brandctl.errors import CommandError
from brandctl.social.client import PostsClient
from brandctl.terminal import note

_PAGE: Final = 200
_SHOWN: Final = 5
_REASONS: Final = frozenset({"needs_reconnecting", "not_connected", "channel_not_connected"})
"""Of failures that a connection mends."""
_TAKE_ARTICLES: Final = frozenset({"devto", "ghost", "webhook", "wordpress"})


def parked(posts: PostsClient, account: str, kind: str) -> Iterator[dict[str, Any]]:
    """Posts that failed since an account took none, or was not there. Raises ServiceError."""
    after: int | None = None
    while True:
        page = posts.page(state="failed", after=after, limit=_PAGE)
        for post in page["items"]:
            named = post["account"] or post["channel"].casefold()
            if post["reason"] in _REASONS and named in {
                account,
                kind if post["account"] is None else account,
            }:
                yield post
        after = page["next"]
        if after is None:
            return


def tell_parked(
    account: Mapping[str, Any], social_url: str | None, key_file: Path | None, *, was_refused: bool
) -> None:
    """Says which posts of an account that works again wait for somebody, and with which command they go on.

    Args:
        account: as the gateway has it.
        social_url: where social is, if that was said.
        key_file: of the key that social is asked with.
        was_refused: whether it took nothing before; then the command is told where social cannot be asked, too.
    """
    name, kind = account["name"], account["kind"]
    retry = f"brandctl posts retry --account {name}"
    try:
        with PostsClient.at(social_url, key_file) as posts:
            found = list(parked(posts, name, kind))
            doubtful = [each for each in posts.page(state="in_doubt")["items"] if each["account"] == name]
    except CommandError:
        if was_refused:
            note(f"Posts that failed meanwhile go on with: {retry}")
    else:
        if found:
            titles = ", ".join(f"“{post['title']}”" for post in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            note(f"{len(found)} posts failed while it took none: {titles}{more}. They go on with: {retry}")
        if doubtful:
            note(
                f"{len(doubtful)} posts may be there or not: brandctl receipts list --state in_doubt shows them"
            )
    if was_refused and kind in _TAKE_ARTICLES:
        note(
            "Articles that failed meanwhile are shown by brandctl targets articles BRAND, and go on with:"
            f" brandctl content publish ID {name}"
        )
