"""Dev.to (Forem), by its API: https://developers.forem.com/api/v1.

It knows no idempotency; articles of one's own are listed, unpublished ones first, and a text of ours is known by its mark. Pictures are not
uploaded: it fetches them from the built-in site, if the article has a page there.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from publisher.targets.edition import Edition, digest_of, mark_in, marked
from publisher.targets.target import Standing
from receipts import (
    AccountClient,
    AccountResponse,
    EffectAbsent,
    EffectFound,
    Refused,
    Step,
    StepInHand,
    UnknownOutcome,
)
from receipts.answers import expect, quote_answer

_ARTICLES: Final = "/api/articles"
_MINE: Final = "/api/articles/me/all"
_PAGE: Final = 30
"""Whole articles: more of them at a time may be more than is read."""
_MOST_PAGES: Final = 34
_MAX_TITLE: Final = 128
_MOST_TAGS: Final = 4
_ERRORS: Final = {401: "Dev.to does not know the API key: connect the account again"}


class DevTo:
    kind: ClassVar = "devto"

    def place(self, edition: Edition) -> Sequence[Step]:
        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            async for article in _mine(work.account):
                if mark_in(_text(article), edition.content_id):
                    return EffectFound(_drafted(article))
            return EffectAbsent()

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await look(work)
            if isinstance(found, EffectFound):
                return found.remote
            draft = {
                "title": str(work.prepared["title"])[:_MAX_TITLE],
                "body_markdown": marked(edition.content_id),
                "published": False,
            }
            answer = await work.account.request("POST", _ARTICLES, json={"article": draft})
            made = _article(expect(answer, errors=_ERRORS))
            # What was sent is what it shows from now on: its answer is not the whole.
            return {"id": str(made["id"]), "seen": _seen({**made, **draft}), "is_public": False}

        return (Step("draft", send, look, seconds=30),)

    def bring(self, edition: Edition, standing: Standing) -> Sequence[Step]:
        text = f"{edition.markdown.lstrip('-').lstrip()}\n{marked(edition.content_id, edition.mark)}\n"

        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await _read(work.account, standing)
            mark = mark_in(_text(now), edition.content_id)
            if mark == edition.mark and now.get("published"):
                return _published(now)
            public = bool(now.get("published"))
            standing.demand_ours(
                seen=_seen(now), mark=mark, is_public=public, state="published" if public else "unpublished"
            )
            article: dict[str, Any] = {
                "title": edition.title[:_MAX_TITLE],
                "body_markdown": text,
                "published": True,
                "description": edition.excerpt,
                "tags": _tags((*edition.categories, *edition.tags)),
            }
            if edition.canonical_url:
                article["canonical_url"] = edition.canonical_url
            if edition.picture and edition.picture.url:
                article["main_image"] = edition.picture.url
            written = await _written(work.account, standing, article)
            return _published({**written, "title": article["title"], "body_markdown": text})

        return (Step("publish", publish, repeatable=True, seconds=30),)

    def withdraw(self, standing: Standing) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            await _written(work.account, standing, {"published": False}, gone_is_fine=True)
            return {}

        return (Step("withdraw", withdraw, repeatable=True, seconds=30),)


async def _mine(account: AccountClient) -> AsyncIterator[dict[str, Any]]:
    for page in range(1, _MOST_PAGES + 1):
        query = {"page": str(page), "per_page": str(_PAGE)}
        answer = expect(await account.request("GET", _MINE, query=query), errors=_ERRORS)
        if not isinstance(answer.json, list):
            raise UnknownOutcome(f"Dev.to answered no list{quote_answer(answer)}")
        for article in answer.json:
            yield article
        if len(answer.json) < _PAGE:
            return


async def _read(account: AccountClient, standing: Standing) -> dict[str, Any]:
    async for article in _mine(account):
        if str(article.get("id")) == standing.remote_id:
            return article
    raise Refused(
        "gone_elsewhere",
        "somebody has deleted it at Dev.to; it is made anew by brandctl content publish ID TARGET --overwrite",
    )


async def _written(
    account: AccountClient, standing: Standing, article: Mapping[str, Any], *, gone_is_fine: bool = False
) -> dict[str, Any]:
    path = f"{_ARTICLES}/{standing.remote_id}"
    answer = await account.request("PUT", path, json={"article": article})
    if gone_is_fine and answer.status == 404:  # noqa: PLR2004
        return {}
    return _article(expect(answer, errors=_ERRORS))


def _tags(names: Sequence[str]) -> list[str]:
    """Four at most, of lower-case letters and digits alone."""
    plain = (re.sub(r"[^a-z0-9]", "", name.lower())[:30] for name in names)
    return list(dict.fromkeys(filter(None, plain)))[:_MOST_TAGS]


def _text(article: Mapping[str, Any]) -> str:
    return str(article.get("body_markdown") or "")


def _drafted(article: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(article["id"]), "seen": _seen(article), "is_public": bool(article.get("published"))}


def _published(article: Mapping[str, Any]) -> dict[str, Any]:
    return {"url": str(article["url"]), "seen": _seen(article)}


def _seen(article: Mapping[str, Any]) -> str:
    # Spaces at its ends may be lost on the way.
    return digest_of([str(article.get("title")).strip(), _text(article).strip()])


def _article(answer: AccountResponse) -> dict[str, Any]:
    if not isinstance(answer.json, dict) or "id" not in answer.json:
        raise UnknownOutcome(f"Dev.to answered something else than an article{quote_answer(answer)}")
    return answer.json
