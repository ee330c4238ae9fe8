"""Dev.to (Forem), as documented: https://developers.forem.com/api/v1. No real one was asked."""

from typing import Any, Final

from fakes.serving.cases import EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

API = "/api/articles"


class FakeDevTo(Fake):
    """Header `api-key`. An article is accepted when readers can see it, and once."""

    def __init__(self, key: str = "devto-key") -> None:
        super().__init__()
        self.key = key
        self.articles: dict[int, dict[str, Any]] = {}

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the gateway puts on requests."""
        return {"api-key": self.key}

    def shown(self) -> list[tuple[str, str]]:
        """Title and text of what readers see."""
        public = (each for each in self.articles.values() if each["published"])
        return [(each["title"], each["body_markdown"]) for each in public]

    def edit(self, **changes: Any) -> None:
        """As a person does there."""
        next(iter(self.articles.values())).update(changes)

    @route("GET", "/api/users/me")
    def me(self, request: Request) -> Reply:
        if request.headers.get("api-key") != self.key:
            return self.expired(request)
        return as_json({"type_of": "user", "id": 1, "username": "me", "name": "Me"})

    @route("GET", f"{API}/me/all")
    def mine(self, request: Request) -> Reply:
        if request.headers.get("api-key") != self.key:
            return self.expired(request)
        page, size = int(request.query.get("page", 1)), int(request.query.get("per_page", 30))
        # Unpublished ones are at the top, both newest first.
        listed = sorted(self.articles.values(), key=lambda each: (each["published"], -each["id"]))
        return as_json([self._shown(each) for each in listed[(page - 1) * size : page * size]])

    @route("POST", API)
    def make(self, request: Request) -> Reply:
        if request.headers.get("api-key") != self.key:
            return self.expired(request)
        given = request.json()["article"]
        if not given.get("title"):
            return as_json({"error": "Title can't be blank", "status": 422}, 422)
        article = {"id": 1_000_000 + len(self.articles), "published": False, "body_markdown": "", "tags": []}
        return self._saved(article, given, 201)

    @route("PUT", f"{API}/{{article}}")
    def change(self, request: Request, article: str) -> Reply:
        if request.headers.get("api-key") != self.key:
            return self.expired(request)
        found = self.articles.get(int(article))
        if found is None:
            return as_json({"error": "not found", "status": 404}, 404)
        return self._saved(found, request.json()["article"], 200)

    def _saved(self, article: dict[str, Any], given: dict[str, Any], status: int) -> Reply:
        others = (each for each in self.articles.values() if each["id"] != article["id"])
        canonical = given.get("canonical_url")
        if canonical and any(each.get("canonical_url") == canonical for each in others):
            return as_json({"error": "Canonical url has already been taken", "status": 422}, 422)
        if len(given.get("tags", ())) > 4:
            return as_json({"error": "Tag list exceed the maximum of 4 tags", "status": 422}, 422)
        was_seen = article["published"]
        article.update(given)
        self.articles[article["id"]] = article
        if article["published"] and not was_seen:
            text, more = article["body_markdown"], {"title": article["title"]}
            self.accept(AcceptedItem(str(article["id"]), "me", text, "article", self._url(article), more))
        return as_json(self._shown(article), status)

    def _shown(self, article: dict[str, Any]) -> dict[str, Any]:
        return {**article, "type_of": "article", "url": self._url(article)}

    def _url(self, article: dict[str, Any]) -> str:
        return f"{self.url}/me/{article['id']}"

    def limited(self, request: Request) -> Reply:
        return as_json(
            {"error": "Rate limit reached, try again in 30 seconds", "status": 429},
            429,
            {"retry-after": "30"},
        )

    def expired(self, request: Request) -> Reply:
        return as_json({"error": "unauthorized", "status": 401}, 401)

    def failed(self, request: Request, status: int) -> Reply:
        return as_json({"error": "internal server error", "status": status}, status)


PLACE: Final = EffectPlace("devto", FakeDevTo, lambda devto: {"key": devto.key}, takes_articles=True)
