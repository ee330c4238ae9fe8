"""WordPress, as its REST API was seen to answer (6.1 and 6.8): https://developer.wordpress.org/rest-api/reference/posts/."""

import base64
import html
import re
from typing import Any, Final

from fakes.serving.cases import EffectPlace
from fakes.serving.exchange import Reply, Request, as_json
from fakes.serving.fake import AcceptedItem, Fake, route

API = "/wp-json/wp/v2"


class FakeWordPress(Fake):
    """Basic `editor:application password`, an editor's. A post is accepted when readers can see it, and once."""

    def __init__(self, user: str = "editor", password: str = "wp pass word") -> None:
        super().__init__()
        self.user, self.password = user, password
        self.may_publish = True
        self.may_make_terms = True
        self.posts: dict[int, dict[str, Any]] = {}
        self.media: dict[int, dict[str, Any]] = {}
        self.terms: dict[str, dict[int, str]] = {"categories": {1: "Uncategorized"}, "tags": {}}
        self.users = {2: "editor", 3: "Ann"}
        self._number = 0

    # --- posts ----------------------------------------------------------------------------------------------------------

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the gateway puts on requests."""
        both = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {both}"}

    def shown(self) -> list[tuple[str, str]]:
        """Title and text of what readers see."""
        public = (each for each in self.posts.values() if each["status"] == "publish")
        return [(each["title"], each["content"]) for each in public]

    def edit(self, **changes: Any) -> None:
        """As a person does there."""
        next(iter(self.posts.values())).update(changes)

    @route("GET", f"{API}/posts")
    def look_up(self, request: Request) -> Reply:
        any_state = request.query.get("status") == "any"
        if any_state and not self._knows(request):
            return _error("rest_invalid_param", "Invalid parameter(s): status", 400)
        slugs = set(request.query.get("slug", "").split(","))
        found = [
            self._shown(post)
            for post in self.posts.values()
            if post["slug"] in slugs
            and (post["status"] == "publish" or (any_state and post["status"] != "trash"))
        ]
        return as_json(found, headers={"x-wp-total": str(len(found))})

    @route("GET", f"{API}/users/me")
    def me(self, request: Request) -> Reply:
        if not self._knows(request):
            return _error("rest_not_logged_in", "You are not currently logged in.", 401)
        return as_json({"id": 2, "name": self.user, "roles": ["editor"]})

    @route("POST", f"{API}/posts")
    def make(self, request: Request) -> Reply:
        if not self._knows(request):
            return _error(
                "rest_cannot_create", "Sorry, you are not allowed to create posts as this user.", 401
            )
        given = request.json()
        if not any(given.get(name) for name in ("title", "content", "excerpt")):
            return _error("empty_content", "Content, title, and excerpt are empty.", 400)
        number = self._next()
        self.posts[number] = {
            "id": number,
            "title": "",
            "content": "",
            "excerpt": "",
            "slug": "",
            "status": "draft",
        }
        return self._saved(self.posts[number], given, 201)

    @route("GET", f"{API}/posts/{{post}}")
    def read(self, request: Request, post: str) -> Reply:
        found = self.posts.get(int(post))
        if found is None:
            return _error("rest_post_invalid_id", "Invalid post ID.", 404)
        if not self._knows(request) and request.query.get("context") == "edit":
            return _error("rest_forbidden_context", "Sorry, you are not allowed to edit this post.", 401)
        return as_json(self._shown(found))

    @route("POST", f"{API}/posts/{{post}}")
    def change(self, request: Request, post: str) -> Reply:
        found = self.posts.get(int(post))
        if found is None:
            return _error("rest_post_invalid_id", "Invalid post ID.", 404)
        if not self._knows(request):
            return _error("rest_cannot_edit", "Sorry, you are not allowed to edit this post.", 401)
        given = request.json()
        if given.get("status") == "publish" and not self.may_publish:
            return _error(
                "rest_cannot_publish", "Sorry, you are not allowed to publish posts in this post type.", 403
            )
        return self._saved(found, given, 200)

    def _saved(self, post: dict[str, Any], given: dict[str, Any], status: int) -> Reply:
        was_seen = post["status"] == "publish"
        trashed = post["status"] == "trash"
        post.update({name: value for name, value in given.items() if name != "id"})
        if trashed:
            # It is written, and stays where it is, without a word.
            post["status"] = "trash"
        if given.get("slug"):
            post["slug"] = self._free(given["slug"], post["id"])
        # Unknown tags and pictures are dropped without a word.
        post["tags"] = [each for each in post.get("tags", ()) if each in self.terms["tags"]]
        if post["status"] == "publish" and not was_seen:
            self.accept(
                AcceptedItem(
                    str(post["id"]),
                    self.user,
                    post["content"],
                    "article",
                    self._link(post),
                    {"title": post["title"]},
                )
            )
        return as_json(self._shown(post), status)

    def _free(self, slug: str, post: int) -> str:
        taken = {
            each["slug"] for each in self.posts.values() if each["id"] != post and each["status"] != "trash"
        }
        number, free = 1, slug
        while free in taken:
            number += 1
            free = f"{slug}-{number}"
        return free

    def _shown(self, post: dict[str, Any]) -> dict[str, Any]:
        texts = {
            name: {"raw": post[name], "rendered": html.escape(post[name])}
            for name in ("title", "content", "excerpt")
        }
        return {**post, **texts, "link": self._link(post)}

    def _link(self, post: dict[str, Any]) -> str:
        seen = post["status"] == "publish"
        return f"{self.url}/{post['slug']}/" if seen else f"{self.url}/?p={post['id']}"

    # --- pictures, names ------------------------------------------------------------------------------------------------

    @route("GET", f"{API}/media")
    def look_up_media(self, request: Request) -> Reply:
        return as_json([each for each in self.media.values() if each["slug"] == request.query.get("slug")])

    @route("POST", f"{API}/media")
    def upload(self, request: Request) -> Reply:
        if not self._knows(request):
            return _error(
                "rest_cannot_create", "Sorry, you are not allowed to create posts as this user.", 401
            )
        parts = {part.name: part for part in request.parts()}
        if "file" not in parts:
            return _error("rest_upload_no_content_disposition", "No Content-Disposition supplied.", 400)
        if not parts["file"].data.startswith(b"\x89PNG"):
            return _error(
                "rest_upload_sideload_error", "Sorry, you are not allowed to upload this file type.", 500
            )
        number = self._next()
        name = re.sub(r"\.[a-z]+$", "", parts["file"].filename or "file")
        self.media[number] = {
            "id": number,
            "slug": name,
            "alt_text": parts["alt_text"].text if "alt_text" in parts else "",
            "source_url": f"{self.url}/wp-content/uploads/{name}.png",
        }
        return as_json(self.media[number], 201)

    @route("GET", f"{API}/{{what}}")
    def list_terms(self, request: Request, what: str) -> Reply:
        if what == "users":
            return as_json(
                [{"id": each, "name": name, "slug": name.lower()} for each, name in self.users.items()]
            )
        if what not in self.terms:
            return _error("rest_no_route", "No route was found matching the URL and request method.", 404)
        sought = request.query.get("search", "").lower()
        names = {each: html.escape(name, quote=False) for each, name in self.terms[what].items()}
        return as_json([{"id": each, "name": name} for each, name in names.items() if sought in name.lower()])

    @route("POST", f"{API}/{{what}}")
    def make_term(self, request: Request, what: str) -> Reply:
        if what not in self.terms:
            return _error("rest_no_route", "No route was found matching the URL and request method.", 404)
        if not self._knows(request) or not self.may_make_terms:
            status = 403 if self._knows(request) else 401
            return _error(
                "rest_cannot_create", "Sorry, you are not allowed to create terms in this taxonomy.", status
            )
        name = request.json()["name"]
        for each, known in self.terms[what].items():
            if known.lower() == name.lower():
                message = "A term with the name provided already exists in this taxonomy."
                return as_json(
                    {"code": "term_exists", "message": message, "data": {"status": 400, "term_id": each}}, 400
                )
        number = self._next()
        self.terms[what][number] = name
        return as_json({"id": number, "name": html.escape(name, quote=False)}, 201)

    # --- in its words ---------------------------------------------------------------------------------------------------

    def expired(self, request: Request) -> Reply:
        return _error("rest_cannot_create", "Sorry, you are not allowed to create posts as this user.", 401)

    def failed(self, request: Request, status: int) -> Reply:
        return Reply(
            status, b"<p>There has been a critical error on this website.</p>", {"content-type": "text/html"}
        )

    def unknown(self, request: Request) -> Reply:
        return _error("rest_no_route", "No route was found matching the URL and request method.", 404)

    def _knows(self, request: Request) -> bool:
        wanted = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return request.headers.get("authorization") == f"Basic {wanted}"

    def _next(self) -> int:
        self._number += 1
        return self._number + 3


def _error(code: str, message: str, status: int) -> Reply:
    return as_json({"code": code, "message": message, "data": {"status": status}}, status)


PLACE: Final = EffectPlace(
    "wordpress",
    FakeWordPress,
    lambda wordpress: {"user": wordpress.user, "password": wordpress.password},
    lambda wordpress: {"url": wordpress.url},
    takes_articles=True,
)
