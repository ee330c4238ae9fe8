"""One module for each kind of account: its address, its authentication, the allowed requests, and how to read answers."""

from collections.abc import Mapping
from typing import Final

from gateway.accounts.kind import AccountKind
from gateway.accounts.kinds.bluesky import Bluesky
from gateway.accounts.kinds.devto import DevTo
from gateway.accounts.kinds.discord import Discord
from gateway.accounts.kinds.ghost import Ghost
from gateway.accounts.kinds.indexnow import IndexNow
from gateway.accounts.kinds.instagram import Instagram
from gateway.accounts.kinds.linkedin import LinkedIn
from gateway.accounts.kinds.mastodon import Mastodon
from gateway.accounts.kinds.slack import Slack
from gateway.accounts.kinds.smtp import Smtp
from gateway.accounts.kinds.telegram import Telegram
from gateway.accounts.kinds.threads import Threads
from gateway.accounts.kinds.webhook import Webhook
from gateway.accounts.kinds.wordpress import WordPress
from gateway.accounts.kinds.x import X

_ALL: Final[tuple[AccountKind, ...]] = (
    Bluesky(),
    DevTo(),
    Discord(),
    Ghost(),
    IndexNow(),
    Instagram(),
    LinkedIn(),
    Mastodon(),
    Slack(),
    Smtp(),
    Telegram(),
    Threads(),
    Webhook(),
    WordPress(),
    X(),
)
KINDS: Final[Mapping[str, AccountKind]] = {kind.name: kind for kind in _ALL}

__all__ = ["KINDS"]
