"""IndexNow, as documented: https://www.indexnow.org/documentation. No real engine was asked."""

import re
from typing import Any

from fakes.serving.exchange import Reply, Request, as_json, empty
from fakes.serving.fake import AcceptedItem, Fake, route


class FakeIndexNow(Fake):
    """Accepts notifications URL by URL. `files` replaces the web: the contents at the address of a key."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    @route("POST", "/indexnow")
    def told(self, request: Request) -> Reply:
        try:
            given: dict[str, Any] = request.json()
            host, key, place, addresses = (given[each] for each in ("host", "key", "keyLocation", "urlList"))
        except (ValueError, KeyError):
            return as_json({"code": "InvalidRequestParameters", "message": "Invalid format"}, 400)
        folder = place.rpartition("/")[0] + "/"
        on_site = all(each.startswith(folder) for each in addresses) and folder.split("/")[2] == host
        if not on_site or not re.fullmatch("[A-Za-z0-9-]{8,128}", key) or len(addresses) > 10_000:
            return as_json({"message": "the addresses are not of the host, or the key is none"}, 422)
        if self.files.get(place) != key:
            return as_json({"code": "UserForbiddedToAccessSite", "message": "the key was not found"}, 403)
        for each in addresses:
            self.accept(AcceptedItem(each, host, each, "address", each))
        return empty(202)
