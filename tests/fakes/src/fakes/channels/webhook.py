"""A receiver of signed messages as https://www.standardwebhooks.com has it: it keeps the ids, and takes each message once."""

import base64
import hashlib
import hmac
import json
from typing import Final

from fakes.serving.cases import ITS_OWN, ChannelCase, EffectPlace, nothing
from fakes.serving.exchange import Reply, Request, as_json, empty
from fakes.serving.fake import AcceptedItem, Fake, route

SECRET: Final = "whsec_" + base64.b64encode(b"a-secret-for-tests-of-32-bytes!!").decode()


class FakeWebhook(Fake):
    """Answers under `/hook`. Without `secret`, signatures are not looked at."""

    def __init__(self, secret: str | None = SECRET) -> None:
        super().__init__()
        self.secret = secret
        self.kept: set[str] = set()

    @route("POST", "/hook")
    def take(self, request: Request) -> Reply:
        name = request.headers.get("webhook-id", "")
        if not name or (self.secret is not None and not self._is_signed(request, name)):
            return as_json({"error": "the signature is not ours"}, 401)
        try:
            body = json.loads(request.body)
            data = body["data"]
        except (ValueError, KeyError, TypeError):
            return as_json({"error": "no message"}, 400)
        if len(str(data.get("text", ""))) > 10_000:
            return as_json({"error": "the text is too long"}, 422)
        if name not in self.kept:
            self.kept.add(name)
            url = f"{self.url}/messages/{name}"
            self.accept(AcceptedItem(name, data.get("brand", ""), data.get("text", ""), url=url, more=data))
        return as_json({"url": f"{self.url}/messages/{name}"})

    @route("POST", "/gone")
    def gone(self, request: Request) -> Reply:
        return empty(410)

    def _is_signed(self, request: Request, name: str) -> bool:
        assert self.secret is not None
        key = base64.b64decode(self.secret.removeprefix("whsec_"))
        signed = f"{name}.{request.headers.get('webhook-timestamp', '')}.".encode() + request.body
        mine = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        given = request.headers.get("webhook-signature", "").split()
        return any(hmac.compare_digest(mine, each) for each in given)


CASES: Final = (
    ChannelCase(
        "webhook",
        lambda: FakeWebhook(secret=None),
        ("POST /hook",),
        headers=nothing,
        path=lambda _: "/hook",
        settings=ITS_OWN,
        placement="none",
    ),
)
PLACE: Final = EffectPlace(
    "webhook",
    FakeWebhook,
    lambda webhook: {"secret": webhook.secret},
    lambda webhook: {"url": f"{webhook.url}/hook"},
)
