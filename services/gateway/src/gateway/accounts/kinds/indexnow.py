"""IndexNow, https://www.indexnow.org/documentation: search engines are told which addresses of a site have changed.

There is nothing to log in with. Engines believe what they are told with a key that they find on the site itself.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from gateway.accounts.domain import Looked
from gateway.accounts.kind import Ask, Credentials, Exchange, Kind, Outgoing, Own

_MOST: Final = 10_000
_KEY: Final = re.compile(r"[A-Za-z0-9-]{8,128}")


def _told(document: Any, settings: Any) -> str | None:
    """Addresses of one site, and nothing else."""
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


class NoCredentials(Credentials):
    pass


class IndexNow(Kind):
    name: ClassVar = "indexnow"
    credentials: ClassVar = NoCredentials
    base: ClassVar = "https://api.indexnow.org"
    asks: ClassVar[Sequence[Ask]] = (Ask("POST", "/indexnow", {}, _told),)

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        del own
        return given

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        """Nothing is sent: it can only be told something."""
        return Looked(None, {})
