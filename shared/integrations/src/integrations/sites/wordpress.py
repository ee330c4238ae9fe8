"""WordPress, by its REST API."""

from typing import Final

from integrations.account import Account
from integrations.sites.site import Site

WORDPRESS_ACCOUNT: Final = Account(
    kind="wordpress", secret="password", user="user", address_example="https://acme.example"
)
WORDPRESS: Final = Site(
    name="wordpress",
    title="WordPress",
    position=1,
    lost_article="looked up",
)
