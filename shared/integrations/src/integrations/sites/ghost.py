"""Ghost, by its Admin API."""

from typing import Final

from integrations.account import Account
from integrations.sites.site import Site

GHOST_ACCOUNT: Final = Account(kind="ghost", secret="key", address_example="https://blog.acme.example")
GHOST: Final = Site(
    name="ghost",
    title="Ghost",
    position=2,
    lost_article="looked up",
)
