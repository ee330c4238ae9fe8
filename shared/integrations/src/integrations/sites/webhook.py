"""Any receiver of signed messages, https://www.standardwebhooks.com."""

from typing import Final

from integrations.sites.site import Site

WEBHOOK: Final = Site(
    name="webhook",
    title="Webhook",
    position=5,
    review="",
    price="",
    lost_article="sent again, as the same message",
)
