"""Ghost, by its Admin API: https://ghost.org/docs/admin-api/.

Ghost renames a duplicate slug, and each update names the version that it changes. Texts are one HTML card of Ghost's own
format: its conversion of other HTML loses comments, and with them our marks.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from publisher.targets.edition import CoverPicture, Edition, digest_of, find_mark, mark_comment
from publisher.targets.target import RemoteState
from receipts import (
    AccountClient,
    AccountResponse,
    EffectAbsent,
    EffectFound,
    NotSent,
    Part,
    Refused,
    Step,
    StepInHand,
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


class Ghost:
    kind: ClassVar = "ghost"

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        slugs = (f"draft-{edition.content_id}", edition.slug)

        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            query = {**_WHOLE, "filter": f"slug:[{','.join(slugs)}]", "limit": "20"}
            answer = expect(await work.account.request("GET", _POSTS, query=query), errors=_ERRORS)
            for post in _posts(answer):
                if post.get("slug") == slugs[0] or find_mark(_text(post), edition.content_id):
                    return EffectFound(_drafted(post))
            return EffectAbsent()

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await look(work)
            if isinstance(found, EffectFound):
                return found.remote
            draft = {
                "title": str(work.prepared["title"])[:_MAX_TITLE],
                "lexical": _card(mark_comment(edition.content_id)),
                "slug": slugs[0],
                "status": "draft",
            }
            answer = await work.account.request("POST", _POSTS, query=_WHOLE, json={"posts": [draft]})
            return _drafted(_post(expect(answer, errors=_ERRORS)))

        return (Step("draft", send, look),)

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        async def picture(work: StepInHand) -> Mapping[str, Any]:
            return {
                "picture": await _upload_picture(work.account, edition.picture) if edition.picture else None
            }

        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await _read(work.account, remote_state)
            mark = find_mark(_text(now), edition.content_id)
            if mark == edition.mark and now.get("status") == "published":
                return _published(now)
            remote_state.check_unchanged(
                seen=_seen(now),
                mark=mark,
                is_public=now.get("status") == "published",
                state=str(now.get("status")),
            )
            post: dict[str, Any] = {
                "title": edition.title[:_MAX_TITLE],
                "lexical": _card(edition.marked_html),
                "custom_excerpt": edition.excerpt[:_MAX_EXCERPT] or None,
                "canonical_url": edition.canonical_url,
                "tags": [{"name": name} for name in (*edition.categories, *edition.tags)],
                "status": "published",
                "updated_at": now["updated_at"],
            }
            if edition.slug != remote_state.slug:
                post["slug"] = edition.slug
            if edition.author:
                post["authors"] = [{"email" if "@" in edition.author else "slug": edition.author}]
            if edition.picture and work.remote["picture"]:
                post["feature_image"] = work.remote["picture"]
                post["feature_image_alt"] = edition.picture.alternative_text[:_MAX_ALTERNATIVE]
            return _published(await _written(work.account, remote_state, post))

        return (
            Step("picture", picture, repeatable=True, unseen=True, seconds=25),
            Step("publish", publish, repeatable=True, seconds=25),
        )

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            try:
                now = await _read(work.account, remote_state)
            except Refused as error:
                if error.reason == "gone_elsewhere":
                    return {}
                raise
            if now.get("status") == "published":
                change = {"status": "draft", "updated_at": now["updated_at"]}
                await _written(work.account, remote_state, change)
            return {}

        return (Step("withdraw", withdraw, repeatable=True, seconds=25),)


async def _read(account: AccountClient, remote_state: RemoteState) -> dict[str, Any]:
    answer = await account.request("GET", f"{_POSTS}{remote_state.remote_id}/", query=_WHOLE)
    if answer.status == _NOT_FOUND:
        raise Refused(
            "gone_elsewhere",
            "the article was deleted at Ghost; to create it again: brandctl content publish ID TARGET --overwrite",
        )
    return _post(expect(answer, errors=_ERRORS))


async def _written(
    account: AccountClient, remote_state: RemoteState, post: Mapping[str, Any]
) -> dict[str, Any]:
    answer = await account.request(
        "PUT", f"{_POSTS}{remote_state.remote_id}/", query=_WHOLE, json={"posts": [post]}
    )
    if answer.status == _COLLISION:
        # It changed since the read a moment ago; the next read shows how.
        raise NotSent(
            "collision",
            "another change of it is being saved at Ghost",
            datetime.now(UTC) + timedelta(seconds=5),
        )
    return _post(expect(answer, errors=_ERRORS))


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


def _text(post: Mapping[str, Any]) -> str:
    """The text of a post's cards, unchanged."""
    try:
        cards = json.loads(post.get("lexical") or "{}")["root"]["children"]
        return "\n".join(str(card.get("html", "")) for card in cards)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _drafted(post: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(post["id"]), "seen": _seen(post), "is_public": post.get("status") == "published"}


def _published(post: Mapping[str, Any]) -> dict[str, Any]:
    if post.get("status") != "published":
        raise UnknownOutcome(f"Ghost has it as '{post.get('status')}' after it was published")
    return {"url": str(post["url"]), "seen": _seen(post)}


def _seen(post: Mapping[str, Any]) -> str:
    return digest_of([post.get(name) for name in ("title", "lexical", "custom_excerpt")])


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
