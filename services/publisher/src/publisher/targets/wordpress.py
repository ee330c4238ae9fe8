"""WordPress, by its REST API: https://developer.wordpress.org/rest-api/reference/posts/.

It knows no idempotency, and gives a second post of a slug another slug. So a draft is made under a slug of its own, by which it can
be looked up, and becomes what readers see by its id.
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any, ClassVar, Final

from publisher.targets.edition import Edition, Picture, digest_of, mark_in, marked
from publisher.targets.target import Standing
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
    403: "the account's user may not do that at WordPress: give it the role of an editor, or of an author",
}


class WordPress:
    kind: ClassVar = "wordpress"

    def place(self, edition: Edition) -> Sequence[Step]:
        slugs = (f"draft-{edition.content_id}", edition.slug)

        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            query = {**_EDIT, "slug": ",".join(slugs), "status": "any", "per_page": "20"}
            answer = expect(await work.account.request("GET", f"{_API}/posts", query=query), errors=_ERRORS)
            for post in _listed(answer):
                if post.get("slug") == slugs[0] or mark_in(_raw(post, "content"), edition.content_id):
                    return EffectFound(_drafted(post))
            return EffectAbsent()

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await look(work)
            if isinstance(found, EffectFound):
                return found.remote
            draft = {
                "title": _as_html(work.prepared["title"]),
                "content": marked(edition.content_id),
                "slug": slugs[0],
                "status": "draft",
            }
            answer = await work.account.request("POST", f"{_API}/posts", query=_EDIT, json=draft)
            return _drafted(_post(expect(answer, errors=_ERRORS)))

        return (Step("draft", send, look),)

    def bring(self, edition: Edition, standing: Standing) -> Sequence[Step]:
        async def terms(work: StepInHand) -> Mapping[str, Any]:
            return {
                "categories": [await _term(work.account, "categories", name) for name in edition.categories],
                "tags": [await _term(work.account, "tags", name) for name in edition.tags],
                "author": await _author(work.account, edition.author) if edition.author else None,
            }

        async def picture(work: StepInHand) -> Mapping[str, Any]:
            return {"picture": await _uploaded(work.account, edition.picture) if edition.picture else None}

        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await _read(work.account, standing)
            mark = mark_in(_raw(now, "content"), edition.content_id)
            if mark == edition.mark and now.get("status") == "publish":
                return _published(now)
            standing.demand_ours(
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
            if edition.slug != standing.slug:
                post["slug"] = edition.slug
            if work.remote["categories"]:
                post["categories"] = work.remote["categories"]
            if work.remote["author"]:
                post["author"] = work.remote["author"]
            if work.remote["picture"]:
                post["featured_media"] = work.remote["picture"]
            return _published(await _written(work.account, standing, post))

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

    def withdraw(self, standing: Standing) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            try:
                now = await _read(work.account, standing)
            except Refused as error:
                if error.reason == "gone_elsewhere":
                    return {}
                raise
            if now.get("status") == "publish":
                await _written(work.account, standing, {"status": "draft"})
            return {}

        return (Step("withdraw", withdraw, repeatable=True),)


async def _read(account: AccountClient, standing: Standing) -> dict[str, Any]:
    answer = await account.request("GET", f"{_API}/posts/{standing.remote_id}", query=_EDIT)
    if answer.status == _NOT_FOUND:
        raise Refused(
            "gone_elsewhere",
            "somebody has deleted it at WordPress; it is made anew by brandctl content publish ID TARGET --overwrite",
        )
    return _post(expect(answer, errors=_ERRORS))


async def _written(account: AccountClient, standing: Standing, post: Mapping[str, Any]) -> dict[str, Any]:
    answer = await account.request("POST", f"{_API}/posts/{standing.remote_id}", query=_EDIT, json=post)
    return _post(expect(answer, errors=_ERRORS))


async def _term(account: AccountClient, what: str, name: str) -> int:
    """The id of a category or tag. The same again is answered with the one that there is."""
    answer = await account.request("POST", f"{_API}/{what}", json={"name": name})
    if answer.status == _BAD and _code(answer) == "term_exists":
        return int(answer.json["data"]["term_id"])
    if answer.status == _FORBIDDEN:
        # Who may not make one may use it. Names are stored, and looked for, as they stand in HTML.
        query = {"search": escape(name, quote=False), "per_page": "100"}
        for term in _listed(expect(await account.request("GET", f"{_API}/{what}", query=query))):
            if unescape(str(term.get("name"))).casefold() == name.casefold():
                return int(term["id"])
        raise Refused(
            "term_missing",
            f"WordPress has nothing called “{name}” among its {what}, and the account's user may not make it: make it there",
        )
    return int(_post(expect(answer, errors=_ERRORS))["id"])


async def _author(account: AccountClient, name: str) -> int:
    query = {"search": name, "who": "authors", "per_page": "100"}
    for user in _listed(expect(await account.request("GET", f"{_API}/users", query=query), errors=_ERRORS)):
        if name.casefold() in {str(user.get("slug")).casefold(), str(user.get("name")).casefold()}:
            return int(user["id"])
    raise Refused("author_missing", f"WordPress knows no author called “{name}” whom this account may see")


async def _uploaded(account: AccountClient, picture: Picture) -> int | None:
    """Its id in the media library; None where there is no room for pictures: then the article goes without."""
    query = {**_EDIT, "slug": picture.name, "per_page": "5"}
    there = await account.request("GET", f"{_API}/media", query=query)
    for item in _listed(expect(there, errors=_ERRORS)):
        return int(item["id"])
    parts = [
        Part("title", picture.name),
        Part("alt_text", picture.alternative_text),
        Part("file", await picture.draw(), "image/png", f"{picture.name}.png"),
    ]
    answer = await account.request("POST", f"{_API}/media", parts=parts, seconds=20)
    if _code(answer) in {"rest_upload_sideload_error", "rest_cannot_create", "rest_upload_file_too_big"}:
        # The first is answered with 500, and is for good all the same.
        return None
    return int(_post(expect(answer, errors=_ERRORS))["id"])


def _content(edition: Edition) -> str:
    """The text; where its home is elsewhere, with a link there at the end, as WordPress has no field for a canonical address."""
    if edition.canonical_url is None:
        return edition.marked_html
    address = escape(edition.canonical_url)
    home = f'<p><em>First published at <a href="{address}">{address}</a>.</em></p>'
    return f"{edition.html}\n{home}\n{marked(edition.content_id, edition.mark)}"


def _as_html(text: str) -> str:
    """WordPress takes titles and excerpts for HTML, and keeps scripts in those of an editor."""
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
        raise UnknownOutcome(f"WordPress answered something else than asked for{quote_answer(answer)}")
    return answer.json


def _listed(answer: AccountResponse) -> list[dict[str, Any]]:
    if not isinstance(answer.json, list):
        raise NotSent(
            "unreadable", f"WordPress answered no list{quote_answer(answer)}; is a plugin in its way?"
        )
    return [each for each in answer.json if isinstance(each, dict)]


def _code(answer: AccountResponse) -> str | None:
    return answer.json.get("code") if isinstance(answer.json, dict) else None
