"""Dev.to (Forem), by its API: https://developers.forem.com/api/v1.

The API has no idempotency. The adapter lists its user's articles, unpublished ones first, and recognises its own by a mark.
Dev.to fetches pictures from the built-in site, if the article has a page there.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from publisher.targets.edition import Edition, digest_of, find_mark, mark_comment
from publisher.targets.target import RemoteState
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
"""Articles come in full, so larger pages might exceed the limit of an answer."""
_MOST_PAGES: Final = 34
_MAX_TITLE: Final = 128
_MOST_TAGS: Final = 4
_ERRORS: Final = {401: "Dev.to does not know the API key: connect the account again"}


class DevTo:
    kind: ClassVar = "devto"

    def creation_steps(self, edition: Edition) -> Sequence[Step]:
        async def look(work: StepInHand) -> EffectFound | EffectAbsent:
            async for article in _list_own_articles(work.account):
                if find_mark(_text(article), edition.content_id):
                    return EffectFound(_drafted(article))
            return EffectAbsent()

        async def send(work: StepInHand) -> Mapping[str, Any]:
            found = await look(work)
            if isinstance(found, EffectFound):
                return found.remote
            draft = {
                "title": str(work.prepared["title"])[:_MAX_TITLE],
                "body_markdown": mark_comment(edition.content_id),
                "published": False,
            }
            answer = await work.account.request("POST", _ARTICLES, json={"article": draft})
            made = _article(expect(answer, errors=_ERRORS))
            # Later reads show the text as it was sent; the answer to the write is not complete.
            return {"id": str(made["id"]), "seen": _seen({**made, **draft}), "is_public": False}

        return (Step("draft", send, look, seconds=30),)

    def update_steps(self, edition: Edition, remote_state: RemoteState) -> Sequence[Step]:
        text = f"{edition.markdown.lstrip('-').lstrip()}\n{mark_comment(edition.content_id, edition.mark)}\n"

        async def publish(work: StepInHand) -> Mapping[str, Any]:
            now = await _read(work.account, remote_state)
            mark = find_mark(_text(now), edition.content_id)
            if mark == edition.mark and now.get("published"):
                return _published(now)
            public = bool(now.get("published"))
            remote_state.check_unchanged(
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
            written = await _written(work.account, remote_state, article)
            return _published({**written, "title": article["title"], "body_markdown": text})

        return (Step("publish", publish, repeatable=True, seconds=30),)

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            await _written(work.account, remote_state, {"published": False}, gone_is_fine=True)
            return {}

        return (Step("withdraw", withdraw, repeatable=True, seconds=30),)


async def _list_own_articles(account: AccountClient) -> AsyncIterator[dict[str, Any]]:
    for page in range(1, _MOST_PAGES + 1):
        query = {"page": str(page), "per_page": str(_PAGE)}
        answer = expect(await account.request("GET", _MINE, query=query), errors=_ERRORS)
        if not isinstance(answer.json, list):
            raise UnknownOutcome(f"Dev.to's answer is not a list{quote_answer(answer)}")
        for article in answer.json:
            yield article
        if len(answer.json) < _PAGE:
            return


async def _read(account: AccountClient, remote_state: RemoteState) -> dict[str, Any]:
    async for article in _list_own_articles(account):
        if str(article.get("id")) == remote_state.remote_id:
            return article
    raise Refused(
        "gone_elsewhere",
        "the article was deleted at Dev.to; to create it again: brandctl content publish ID TARGET --overwrite",
    )


async def _written(
    account: AccountClient,
    remote_state: RemoteState,
    article: Mapping[str, Any],
    *,
    gone_is_fine: bool = False,
) -> dict[str, Any]:
    path = f"{_ARTICLES}/{remote_state.remote_id}"
    answer = await account.request("PUT", path, json={"article": article})
    if gone_is_fine and answer.status == 404:  # noqa: PLR2004
        return {}
    return _article(expect(answer, errors=_ERRORS))


def _tags(names: Sequence[str]) -> list[str]:
    """At most four tags, of lower-case letters and digits only."""
    plain = (re.sub(r"[^a-z0-9]", "", name.lower())[:30] for name in names)
    return list(dict.fromkeys(filter(None, plain)))[:_MOST_TAGS]


def _text(article: Mapping[str, Any]) -> str:
    return str(article.get("body_markdown") or "")


def _drafted(article: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": str(article["id"]), "seen": _seen(article), "is_public": bool(article.get("published"))}


def _published(article: Mapping[str, Any]) -> dict[str, Any]:
    return {"url": str(article["url"]), "seen": _seen(article)}


def _seen(article: Mapping[str, Any]) -> str:
    # Spaces at the ends may get lost.
    return digest_of([str(article.get("title")).strip(), _text(article).strip()])


def _article(answer: AccountResponse) -> dict[str, Any]:
    if not isinstance(answer.json, dict) or "id" not in answer.json:
        raise UnknownOutcome(f"Dev.to's answer is not an article{quote_answer(answer)}")
    return answer.json
