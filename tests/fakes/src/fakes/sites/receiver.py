"""A receiver of articles as signed messages: https://www.standardwebhooks.com. It recognises a repeated message by its `webhook-id`."""

import base64
import hashlib
import hmac
from typing import Any, Final

from fakes.serving.cases import EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

SECRET = "whsec_" + base64.b64encode(b"a secret of a receiver, long").decode()


class FakeReceiver(Fake):
    """Checks the signature where it is given a secret. `messages` are those that it has not had before."""

    def __init__(self, secret: str | None = None) -> None:
        super().__init__()
        self.secret = secret
        self.messages: dict[str, Any] = {}
        self.tells_address = True

    def shown(self) -> list[tuple[str, str]]:
        """Title and text of what readers see."""
        latest: dict[str, Any] = {}
        for message in self.messages.values():
            latest[message["data"]["content_id"]] = message
        seen = (each["data"] for each in latest.values() if each["type"] != "article.unpublished")
        return [(each["title"], each["html"]) for each in seen]

    @route("POST", "/")
    def take(self, request: Request) -> Reply:
        name = request.headers.get("webhook-id")
        if not name:
            return as_json({"error": "webhook-id is missing"}, 400)
        if self.secret and not self._is_signed(request, name):
            return as_json({"error": "the signature is not ours"}, 401)
        message = request.json()
        data = message["data"]
        url = f"{self.url}/articles/{data.get('slug')}"
        if name not in self.messages:
            self.messages[name] = message
            if message["type"] == "article.published":
                self.accept(
                    AcceptedItem(
                        data["content_id"], "sender", data["html"], "article", url, {"title": data["title"]}
                    )
                )
        return as_json({"url": url} if self.tells_address else {})

    def _is_signed(self, request: Request, name: str) -> bool:
        assert self.secret is not None
        moment = request.headers.get("webhook-timestamp", "")
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        made = hmac.new(key, f"{name}.{moment}.".encode() + request.body, hashlib.sha256).digest()
        wanted = f"v1,{base64.b64encode(made).decode()}"
        return wanted in request.headers.get("webhook-signature", "").split(" ")


PLACE: Final = EffectPlace(
    "receiver",
    lambda: FakeReceiver(SECRET),
    lambda receiver: {"secret": receiver.secret},
    lambda receiver: {"url": f"{receiver.url}/"},
    kind="webhook",
    takes_articles=True,
)
"""The webhook to which articles go."""
