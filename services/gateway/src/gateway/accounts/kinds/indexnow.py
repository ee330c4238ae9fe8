"""IndexNow, https://www.indexnow.org/documentation: notifies search engines of changed addresses.

There is no log-in. Engines check a key that they find on the site.
"""

import re
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from gateway.accounts.kind import AccountCredentials, AccountKind, AllowedRequest
from integrations.notices.indexnow import INDEXNOW_ACCOUNT

_MOST: Final = 10_000
_KEY: Final = re.compile(r"[A-Za-z0-9-]{8,128}")


def _told(document: Any, settings: Any) -> str | None:
    """Accepts a list of addresses of one site."""
    del settings
    if not isinstance(document, dict) or document.keys() != {"host", "key", "keyLocation", "urlList"}:
        return "it has host, key, keyLocation and urlList"
    addresses = document["urlList"]
    if not isinstance(addresses, list) or not 1 <= len(addresses) <= _MOST:
        return f"urlList has one to {_MOST:,} addresses"
    if not isinstance(document["key"], str) or not _KEY.fullmatch(document["key"]):
        return "its key has 8 to 128 letters, digits and dashes"
    if not all(_host(each) == document["host"] for each in [document["keyLocation"], *addresses]):
        return "all of its addresses are on its host"
    return None


def _host(address: Any) -> str | None:
    try:
        parts = urlsplit(address) if isinstance(address, str) else None
    except ValueError:
        return None
    return parts.netloc if parts and parts.scheme in {"http", "https"} else None


class IndexNowAccount(AccountKind):
    account: ClassVar = INDEXNOW_ACCOUNT
    credentials: ClassVar = AccountCredentials
    allowed_requests: ClassVar = (AllowedRequest("POST", "/indexnow", {}, _told),)
