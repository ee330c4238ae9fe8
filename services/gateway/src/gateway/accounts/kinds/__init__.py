"""One file for each kind of account: where it is, how one is known there, what services may ask of it, and what its answers say."""

from collections.abc import Mapping
from typing import Final

from gateway.accounts.kind import Kind
from gateway.accounts.kinds.bluesky import Bluesky
from gateway.accounts.kinds.ghost import Ghost
from gateway.accounts.kinds.mastodon import Mastodon
from gateway.accounts.kinds.webhook import Webhook
from gateway.accounts.kinds.wordpress import WordPress

_ALL: Final[tuple[Kind, ...]] = (Bluesky(), Ghost(), Mastodon(), Webhook(), WordPress())
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _ALL}

__all__ = ["KINDS"]
