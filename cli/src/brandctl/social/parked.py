"""Posts that failed because their account was not connected, and how to retry them once it is connected again."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from brandctl.errors import FAILURES
from brandctl.terminal import note
from client.pages import MAX_PAGE, items_of
from client.services.social import Social
from integrations.sites import SITES

_SHOWN: Final = 5
_REASONS: Final = frozenset({"needs_reconnecting", "not_connected", "channel_not_connected"})
"""Reasons of failures that a new connection mends."""


def parked(social: Social, account: str, kind: str) -> Iterator[dict[str, Any]]:
    """Yields posts that failed because an account accepted none or was missing. Raises ClientError."""
    for post in items_of(social.list_posts, state="failed", limit=MAX_PAGE):
        named = post["account"] or post["channel"].casefold()
        if post["reason"] in _REASONS and named in {account, kind if post["account"] is None else account}:
            yield post


def tell_parked(account: Mapping[str, Any], social: Social, *, was_refused: bool) -> None:
    """Prints the failed posts of an account that works again, and the command that retries them.

    Args:
        account: the gateway's answer about it.
        social: where the posts are.
        was_refused: whether the account accepted nothing before; then the command is printed even if social cannot be reached.
    """
    name, kind = account["name"], account["kind"]
    retry = f"brandctl posts retry --account {name}"
    try:
        found = list(parked(social, name, kind))
        doubtful = [each for each in social.list_posts(state="in_doubt")["items"] if each["account"] == name]
    except FAILURES:
        if was_refused:
            note(f"Retry posts that failed meanwhile: {retry}")
    else:
        if found:
            titles = ", ".join(f"“{post['title']}”" for post in found[:_SHOWN])
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            note(f"{len(found)} posts failed while it took none: {titles}{more}. They go on with: {retry}")
        if doubtful:
            note(
                f"{len(doubtful)} posts may be there or not: brandctl receipts list --state in_doubt shows them"
            )
    if was_refused and kind in SITES:
        note(
            "Articles that failed meanwhile are shown by brandctl targets articles BRAND, and go on with:"
            f" brandctl content publish ID {name}"
        )
