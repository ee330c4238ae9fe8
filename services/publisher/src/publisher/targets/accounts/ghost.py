"""Ghost, by its Admin API: https://ghost.org/docs/admin-api/.

Ghost renames a duplicate slug, and each update names the version that it changes. Texts are one HTML card of Ghost's own
format: its conversion of other HTML loses comments, and with them our marks.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from integrations.sites.ghost import GHOST
from publisher.targets.drafting import DraftingTarget, RemoteArticle, draft_slug, picture_step
from publisher.targets.edition import CoverPicture, Edition, digest_of, find_mark, mark_comment
from publisher.targets.target import RemoteState
from receipts import (
    AccountClient,
    AccountResponse,
    NotSent,
    Part,
    Step,
    UnknownOutcome,
)
from receipts.answers import expect, quote_answer

_POSTS: Final = "/ghost/api/admin/posts/"
_IMAGES: Final = "/ghost/api/admin/images/upload/"
_WHOLE: Final = {"formats": "lexical"}
_NOT_FOUND: Final = 404
_COLLISION: Final = 409
_MAX_TITLE: Final = 255
_MAX_EXCERPT: Final = 300
_MAX_ALTERNATIVE: Final = 190
_ERRORS: Final = {
    401: "Ghost does not know the Admin API key: connect the account again",
    403: "Ghost does not let this integration do that: connect the account again, with an Admin API key",
    404: "Ghost's address has no Admin API: check the account's address",
}


class GhostTarget(DraftingTarget):
    site: ClassVar = GHOST
    seconds: ClassVar = 25.0

    async def find(self, account: AccountClient, edition: Edition) -> RemoteArticle | None:
        draft = draft_slug(edition)
        query = {**_WHOLE, "filter": f"slug:[{draft},{edition.slug}]", "limit": "20"}
        answer = expect(await account.request("GET", _POSTS, query=query), errors=_ERRORS)
        for post in _posts(answer):
            if post.get("slug") == draft or find_mark(self.text(post), edition.content_id):
                return post
        return None

    async def create(self, account: AccountClient, edition: Edition, title: str) -> RemoteArticle:
        draft = {
            "title": title[:_MAX_TITLE],
            "lexical": _card(mark_comment(edition.content_id)),
            "slug": draft_slug(edition),
            "status": "draft",
        }
        answer = await account.request("POST", _POSTS, query=_WHOLE, json={"posts": [draft]})
        return _post(expect(answer, errors=_ERRORS))

    async def read(self, account: AccountClient, remote_id: str) -> RemoteArticle | None:
        answer = await account.request("GET", f"{_POSTS}{remote_id}/", query=_WHOLE)
        return None if answer.status == _NOT_FOUND else _post(expect(answer, errors=_ERRORS))

    def preparing_steps(self, edition: Edition) -> Sequence[Step]:
        return (picture_step(edition, _upload_picture),)

    def fields(
        self, edition: Edition, remote_state: RemoteState, remote: Mapping[str, Any]
    ) -> dict[str, Any]:
        post: dict[str, Any] = {
            "title": edition.title[:_MAX_TITLE],
            "lexical": _card(edition.marked_html),
            "custom_excerpt": edition.excerpt[:_MAX_EXCERPT] or None,
            "canonical_url": edition.canonical_url,
            "tags": [{"name": name} for name in (*edition.categories, *edition.tags)],
            "status": "published",
        }
        if edition.slug != remote_state.slug:
            post["slug"] = edition.slug
        if edition.author:
            post["authors"] = [{"email" if "@" in edition.author else "slug": edition.author}]
        if edition.picture and remote["picture"]:
            post["feature_image"] = remote["picture"]
            post["feature_image_alt"] = edition.picture.alternative_text[:_MAX_ALTERNATIVE]
        return post

    async def write(
        self, account: AccountClient, remote_id: str, now: RemoteArticle, fields: RemoteArticle
    ) -> RemoteArticle:
        path = f"{_POSTS}{remote_id}/"
        post = {**fields, "updated_at": now["updated_at"]}
        answer = await account.request("PUT", path, query=_WHOLE, json={"posts": [post]})
        if answer.status == _COLLISION:
            # It changed since the read a moment ago; the next read shows how.
            raise NotSent(
                "collision",
                "another change of it is being saved at Ghost",
                datetime.now(UTC) + timedelta(seconds=5),
            )
        return _post(expect(answer, errors=_ERRORS))

    def text(self, article: RemoteArticle) -> str:
        """The text of a post's cards, unchanged."""
        try:
            cards = json.loads(article.get("lexical") or "{}")["root"]["children"]
            return "\n".join(str(card.get("html", "")) for card in cards)
        except (ValueError, KeyError, TypeError, AttributeError):
            return ""

    def seen(self, article: RemoteArticle) -> str:
        return digest_of([article.get(name) for name in ("title", "lexical", "custom_excerpt")])

    def is_public(self, article: RemoteArticle) -> bool:
        return article.get("status") == "published"


async def _upload_picture(account: AccountClient, picture: CoverPicture) -> str | None:
    """Uploads the picture; returns its address, or None if Ghost refuses pictures. A second upload leaves an unused file."""
    parts = [
        Part("purpose", "image"),
        Part("ref", picture.name),
        Part("file", await picture.draw(), "image/png", f"{picture.name}.png"),
    ]
    answer = await account.request("POST", _IMAGES, parts=parts, seconds=20)
    if answer.status in {400, 413, 415}:
        return None
    images = expect(answer, errors=_ERRORS).json
    try:
        return str(images["images"][0]["url"])
    except (KeyError, IndexError, TypeError):
        raise UnknownOutcome(f"Ghost's answer is not a picture{quote_answer(answer)}") from None


def _card(html: str) -> str:
    card = {"type": "html", "version": 1, "html": html}
    root = {"children": [card], "direction": None, "format": "", "indent": 0, "type": "root", "version": 1}
    return json.dumps({"root": root}, ensure_ascii=False)


def _post(answer: AccountResponse) -> dict[str, Any]:
    posts = _posts(answer)
    if not posts or "id" not in posts[0]:
        raise UnknownOutcome(f"Ghost's answer is not a post{quote_answer(answer)}")
    return posts[0]


def _posts(answer: AccountResponse) -> list[dict[str, Any]]:
    posts = answer.json.get("posts") if isinstance(answer.json, dict) else None
    if not isinstance(posts, list):
        raise UnknownOutcome(f"Ghost's answer contains no posts{quote_answer(answer)}")
    return [each for each in posts if isinstance(each, dict)]
