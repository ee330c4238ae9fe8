"""IndexNow: search engines check a key that they find on the site itself."""

from typing import Final

from integrations.account import Account

INDEXNOW_ACCOUNT: Final = Account(kind="indexnow", api="https://api.indexnow.org", can_be_checked=False)
