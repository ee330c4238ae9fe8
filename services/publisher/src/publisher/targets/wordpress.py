"""WordPress, by its REST API: https://developer.wordpress.org/rest-api/reference/posts/.

The API has no idempotency, and renames a duplicate slug. So the adapter creates a draft with a unique slug, which it can
look up, and then publishes it by its id.
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
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

_API: Final = "/wp-json/wp/v2"
_EDIT: Final = {"context": "edit"}
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_BAD: Final = 400
_ERRORS: Final = {
    401: "WordPress does not know the user or the application password: connect the account again",
    403: "WordPress refuses this to the account's user: give the user the role of editor or author",
}


class WordPress:
    kind: ClassVar = "wordpress"

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        slugs = (f"draft-{edition.content_id}", edition.slug)

        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            query = {**_EDIT, "slug": ",".join(slugs), "status": "any", "per_page": "20"}
            answer = expect(await work.account.request("GET", f"{_API}/posts", query=query), errors=_ERRORS)
            for post in _as_list(answer):
                if post.get("slug") == slugs[0] or find_mark(_raw(post, "content"), edition.content_id):
                    return EffectFound(_drafted(post))
            return EffectAbsent()

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await look(work)
            if isinstance(found, EffectFound):
                return found.remote
            draft = {
                "title": _as_html(work.prepared["title"]),
                "content": mark_comment(edition.content_id),
                "slug": slugs[0],
                "status": "draft",
            }
            answer = await work.account.request("POST", f"{_API}/posts", query=_EDIT, json=draft)
            return _drafted(_post(expect(answer, errors=_ERRORS)))

        return (Step("draft", send, look),)

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        async def terms(work: StepInHand) -> Mapping[str, Any]:
            return {
                "categories": [
                    await _ensure_term(work.account, "categories", name) for name in edition.categories
                ],
                "tags": [await _ensure_term(work.account, "tags", name) for name in edition.tags],
                "author": await _find_author(work.account, edition.author) if edition.author else None,
            }

        async def picture(work: StepInHand) -> Mapping[str, Any]:
            return {
                "picture": await _upload_picture(work.account, edition.picture) if edition.picture else None
            }

        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await _read(work.account, remote_state)
            mark = find_mark(_raw(now, "content"), edition.content_id)
            if mark == edition.mark and now.get("status") == "publish":
                return _published(now)
            remote_state.check_unchanged(
                seen=_seen(now),
                mark=mark,
                is_public=now.get("status") == "publish",
                state=str(now.get("status")),
            )
            post: dict[str, Any] = {
                "title": _as_html(edition.title),
                "content": _content(edition),
                "excerpt": _as_html(edition.excerpt),
                "status": "publish",
                "tags": work.remote["tags"],
            }
            if edition.slug != remote_state.slug:
                post["slug"] = edition.slug
            if work.remote["categories"]:
                post["categories"] = work.remote["categories"]
            if work.remote["author"]:
                post["author"] = work.remote["author"]
            if work.remote["picture"]:
                post["featured_media"] = work.remote["picture"]
            return _published(await _written(work.account, remote_state, post))

        steps = [
            Step("terms", terms, repeatable=True, unseen=True),
            Step("publish", publish, repeatable=True),
        ]
        if edition.picture is None:
            return [
                Step("terms", terms, repeatable=True, unseen=True),
                Step("picture", picture, repeatable=True, unseen=True),
                steps[1],
            ]
        return [steps[0], Step("picture", picture, repeatable=True, unseen=True, seconds=25), steps[1]]

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            try:
                now = await _read(work.account, remote_state)
            except Refused as error:
                if error.reason == "gone_elsewhere":
                    return {}
                raise
            if now.get("status") == "publish":
                await _written(work.account, remote_state, {"status": "draft"})
            return {}

        return (Step("withdraw", withdraw, repeatable=True),)


async def _read(account: AccountClient, remote_state: RemoteState) -> dict[str, Any]:
    answer = await account.request("GET", f"{_API}/posts/{remote_state.remote_id}", query=_EDIT)
    if answer.status == _NOT_FOUND:
        raise Refused(
            "gone_elsewhere",
            "the article was deleted at WordPress; to create it again: brandctl content publish ID TARGET --overwrite",
        )
    return _post(expect(answer, errors=_ERRORS))


async def _written(
    account: AccountClient, remote_state: RemoteState, post: Mapping[str, Any]
) -> dict[str, Any]:
    answer = await account.request("POST", f"{_API}/posts/{remote_state.remote_id}", query=_EDIT, json=post)
    return _post(expect(answer, errors=_ERRORS))


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


def _drafted(post: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(post["id"]), "seen": _seen(post), "is_public": post.get("status") == "publish"}


def _published(post: Mapping[str, Any]) -> dict[str, Any]:
    if post.get("status") != "publish":
        raise UnknownOutcome(f"WordPress has it as '{post.get('status')}' after it was published")
    return {"url": str(post["link"]), "seen": _seen(post)}


def _seen(post: Mapping[str, Any]) -> str:
    return digest_of([_raw(post, name) for name in ("title", "content", "excerpt")])


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
