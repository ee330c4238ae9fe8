"""WordPress, by its REST API: https://developer.wordpress.org/rest-api/reference/posts/.

The API has no idempotency, and renames a duplicate slug. So the adapter creates a draft with a unique slug, which it can
look up, and then publishes it by its id.
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any, ClassVar, Final

from integrations.sites.wordpress import WORDPRESS
from publisher.targets.drafting import DraftingTarget, RemoteArticle, draft_slug, picture_step
from publisher.targets.edition import CoverPicture, Edition, digest_of, find_mark, mark_comment
from publisher.targets.target import RemoteState
from receipts import (
    AccountClient,
    AccountResponse,
    NotSent,
    Part,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import expect, quote_answer

_API: Final = "/wp-json/wp/v2"
_POSTS: Final = f"{_API}/posts"
_EDIT: Final = {"context": "edit"}
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_BAD: Final = 400
_ERRORS: Final = {
    401: "WordPress does not know the user or the application password: connect the account again",
    403: "WordPress refuses this to the account's user: give the user the role of editor or author",
}


class WordPressTarget(DraftingTarget):
    site: ClassVar = WORDPRESS

    async def find(self, account: AccountClient, edition: Edition) -> RemoteArticle | None:
        draft = draft_slug(edition)
        query = {**_EDIT, "slug": f"{draft},{edition.slug}", "status": "any", "per_page": "20"}
        answer = expect(await account.request("GET", _POSTS, query=query), errors=_ERRORS)
        for post in _as_list(answer):
            if post.get("slug") == draft or find_mark(self.text(post), edition.content_id):
                return post
        return None

    async def create(self, account: AccountClient, edition: Edition, title: str) -> RemoteArticle:
        draft = {
            "title": _as_html(title),
            "content": mark_comment(edition.content_id),
            "slug": draft_slug(edition),
            "status": "draft",
        }
        return _post(expect(await account.request("POST", _POSTS, query=_EDIT, json=draft), errors=_ERRORS))

    async def read(self, account: AccountClient, remote_id: str) -> RemoteArticle | None:
        answer = await account.request("GET", f"{_POSTS}/{remote_id}", query=_EDIT)
        return None if answer.status == _NOT_FOUND else _post(expect(answer, errors=_ERRORS))

    def preparing_steps(self, edition: Edition) -> Sequence[Step]:
        async def terms(work: StepInHand) -> Mapping[str, Any]:
            return {
                "categories": [
                    await _ensure_term(work.account, "categories", name) for name in edition.categories
                ],
                "tags": [await _ensure_term(work.account, "tags", name) for name in edition.tags],
                "author": await _find_author(work.account, edition.author) if edition.author else None,
            }

        return (
            Step("terms", terms, repeatable=True, unseen=True),
            picture_step(edition, _upload_picture),
        )

    def fields(
        self, edition: Edition, remote_state: RemoteState, remote: Mapping[str, Any]
    ) -> dict[str, Any]:
        post: dict[str, Any] = {
            "title": _as_html(edition.title),
            "content": _content(edition),
            "excerpt": _as_html(edition.excerpt),
            "status": "publish",
            "tags": remote["tags"],
        }
        if edition.slug != remote_state.slug:
            post["slug"] = edition.slug
        for field, found in (
            ("categories", "categories"),
            ("author", "author"),
            ("featured_media", "picture"),
        ):
            if remote[found]:
                post[field] = remote[found]
        return post

    async def write(
        self, account: AccountClient, remote_id: str, now: RemoteArticle, fields: RemoteArticle
    ) -> RemoteArticle:
        path = f"{_POSTS}/{remote_id}"
        answer = await account.request("POST", path, query=_EDIT, json=fields)
        return _post(expect(answer, errors=_ERRORS))

    def text(self, article: RemoteArticle) -> str:
        return _raw(article, "content")

    def seen(self, article: RemoteArticle) -> str:
        return digest_of([_raw(article, name) for name in ("title", "content", "excerpt")])

    def is_public(self, article: RemoteArticle) -> bool:
        return article.get("status") == "publish"

    def link(self, article: RemoteArticle) -> str:
        return str(article["link"])


async def _ensure_term(account: AccountClient, what: str, name: str) -> int:
    """The id of a category or tag, created if needed."""
    answer = await account.request("POST", f"{_API}/{what}", json={"name": name})
    if answer.status == _BAD and _code(answer) == "term_exists":
        return int(answer.json["data"]["term_id"])
    if answer.status == _FORBIDDEN:
        # An account that may not create terms may use existing ones. WordPress stores and searches names in HTML form.
        query = {"search": escape(name, quote=False), "per_page": "100"}
        for term in _as_list(expect(await account.request("GET", f"{_API}/{what}", query=query))):
            if unescape(str(term.get("name"))).casefold() == name.casefold():
                return int(term["id"])
        raise Refused(
            "term_missing",
            f"WordPress has no term “{name}” among its {what}, and the account's user may not create it: create it there",
        )
    return int(_post(expect(answer, errors=_ERRORS))["id"])


async def _find_author(account: AccountClient, name: str) -> int:
    query = {"search": name, "who": "authors", "per_page": "100"}
    for user in _as_list(expect(await account.request("GET", f"{_API}/users", query=query), errors=_ERRORS)):
        if name.casefold() in {str(user.get("slug")).casefold(), str(user.get("name")).casefold()}:
            return int(user["id"])
    raise Refused("author_missing", f"this account sees no author called “{name}” at WordPress")


async def _upload_picture(account: AccountClient, picture: CoverPicture) -> int | None:
    """The picture's id in the media library; None if WordPress refuses the upload: the article then has no picture."""
    query = {**_EDIT, "slug": picture.name, "per_page": "5"}
    there = await account.request("GET", f"{_API}/media", query=query)
    for item in _as_list(expect(there, errors=_ERRORS)):
        return int(item["id"])
    parts = [
        Part("title", picture.name),
        Part("alt_text", picture.alternative_text),
        Part("file", await picture.draw(), "image/png", f"{picture.name}.png"),
    ]
    answer = await account.request("POST", f"{_API}/media", parts=parts, seconds=20)
    if _code(answer) in {"rest_upload_sideload_error", "rest_cannot_create", "rest_upload_file_too_big"}:
        # WordPress answers the first with 500, although it is permanent.
        return None
    return int(_post(expect(answer, errors=_ERRORS))["id"])


def _content(edition: Edition) -> str:
    """The text; if its home is elsewhere, with a link there, as WordPress has no field for a canonical address."""
    if edition.canonical_url is None:
        return edition.marked_html
    address = escape(edition.canonical_url)
    home = f'<p><em>First published at <a href="{address}">{address}</a>.</em></p>'
    return f"{edition.html}\n{home}\n{mark_comment(edition.content_id, edition.mark)}"


def _as_html(text: str) -> str:
    """Escapes text for titles and excerpts, which WordPress reads as HTML, with scripts from editors."""
    return escape(text, quote=False)


def _raw(post: Mapping[str, Any], name: str) -> str:
    value = post.get(name)
    return str(value.get("raw", "")) if isinstance(value, dict) else ""


def _post(answer: AccountResponse) -> dict[str, Any]:
    if not isinstance(answer.json, dict) or "id" not in answer.json:
        raise UnknownOutcome(f"WordPress's answer has no id{quote_answer(answer)}")
    return answer.json


def _as_list(answer: AccountResponse) -> list[dict[str, Any]]:
    if not isinstance(answer.json, list):
        raise NotSent(
            "unreadable", f"WordPress's answer is not a list{quote_answer(answer)}; check its plugins"
        )
    return [each for each in answer.json if isinstance(each, dict)]


def _code(answer: AccountResponse) -> str | None:
    return answer.json.get("code") if isinstance(answer.json, dict) else None
