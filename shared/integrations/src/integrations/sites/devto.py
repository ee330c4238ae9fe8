"""DEV (dev.to) and other Forems."""

from typing import Final

from integrations.account import Account
from integrations.sites.site import Site

DEVTO_ACCOUNT: Final = Account(kind="devto", secret="key", api="https://dev.to")
DEVTO: Final = Site(
    name="devto",
    title="Dev.to",
    position=3,
    lost_article="looked up",
)
