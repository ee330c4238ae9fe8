"""An invented provider that makes items and lists them, for tests of behaviour that all providers share."""

from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route


class FakePlain(Fake):
    """Bearer `token`. `POST /items` makes one and knows no idempotency; `PUT /items/{id}` makes it or leaves it as it is."""

    def __init__(self, token: str = "plain-token") -> None:
        super().__init__()
        self.token = token

    @route("POST", "/items")
    def make(self, request: Request) -> Reply:
        return self._made(request, str(len(self.accepted) + 1))

    @route("PUT", "/items/{item}")
    def put(self, request: Request, item: str) -> Reply:
        standing = next((each for each in self.accepted if each.id == item), None)
        return self._shown(standing, 200) if standing else self._made(request, item)

    @route("GET", "/items")
    def list_all(self, request: Request) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        items = [{"id": each.id, "text": each.text, "url": each.url} for each in self.accepted]
        return as_json({"items": items})

    def _made(self, request: Request, item: str) -> Reply:
        if request.bearer != self.token:
            return self.expired(request)
        try:
            text = request.json()["text"]
        except (ValueError, KeyError, TypeError):
            return as_json({"error": "text is missing"}, 422)
        made = AcceptedItem(item, "plain", text, kind="item", url=f"{self.url}/items/{item}")
        self.accept(made)
        return self._shown(made, 201)

    def _shown(self, item: AcceptedItem, status: int) -> Reply:
        return as_json({"id": item.id, "text": item.text, "url": item.url}, status)
