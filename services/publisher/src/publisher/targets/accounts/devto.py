"""Dev.to (Forem), by its API: https://developers.forem.com/api/v1.

The API has no idempotency. The adapter lists its user's articles, unpublished ones first, and recognises its own by a mark.
Dev.to fetches pictures from the built-in site, if the article has a page there.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar, Final

from integrations.sites.devto import DEVTO
from publisher.targets.drafting import DraftingTarget, RemoteArticle
from publisher.targets.edition import Edition, digest_of, find_mark, mark_comment
from publisher.targets.target import RemoteState
from receipts import (
    AccountClient,
    AccountResponse,
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


class DevToTarget(DraftingTarget):
    site: ClassVar = DEVTO
    hidden: ClassVar = {"published": False}
    draft_seconds: ClassVar = 30.0
    seconds: ClassVar = 30.0

    async def find(self, account: AccountClient, edition: Edition) -> RemoteArticle | None:
        async for article in _list_own_articles(account):
            if find_mark(self.text(article), edition.content_id):
                return article
        return None

    async def create(self, account: AccountClient, edition: Edition, title: str) -> RemoteArticle:
        draft = {
            "title": title[:_MAX_TITLE],
            "body_markdown": mark_comment(edition.content_id),
            "published": False,
        }
        answer = await account.request("POST", _ARTICLES, json={"article": draft})
        # Later reads show the text as it was sent; the answer to the write is not complete.
        return {**_article(expect(answer, errors=_ERRORS)), **draft}

    async def read(self, account: AccountClient, remote_id: str) -> RemoteArticle | None:
        async for article in _list_own_articles(account):
            if str(article.get("id")) == remote_id:
                return article
        return None

    def fields(
        self, edition: Edition, remote_state: RemoteState, remote: Mapping[str, Any]
    ) -> dict[str, Any]:
        text = f"{edition.markdown.lstrip('-').lstrip()}\n{mark_comment(edition.content_id, edition.mark)}\n"
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
        return article

    async def write(
        self, account: AccountClient, remote_id: str, now: RemoteArticle, fields: RemoteArticle
    ) -> RemoteArticle:
        written = _article(expect(await _put(account, remote_id, fields), errors=_ERRORS))
        return {**written, **{name: fields[name] for name in ("title", "body_markdown", "published")}}

    def withdrawal_steps(self, remote_state: RemoteState) -> Sequence[Step]:
        """Without a read, which would list every article."""

        async def withdraw(work: StepInHand) -> Mapping[str, Any]:
            answer = await _put(work.account, remote_state.remote_id, self.hidden)
            if answer.status != HTTPStatus.NOT_FOUND:
                _article(expect(answer, errors=_ERRORS))
            return {}

        return (Step("withdraw", withdraw, repeatable=True, seconds=self.seconds),)

    def text(self, article: RemoteArticle) -> str:
        return str(article.get("body_markdown") or "")

    def seen(self, article: RemoteArticle) -> str:
        # Spaces at the ends may get lost.
        return digest_of([str(article.get("title")).strip(), self.text(article).strip()])

    def state(self, article: RemoteArticle) -> str:
        return "published" if self.is_public(article) else "unpublished"

    def is_public(self, article: RemoteArticle) -> bool:
        return bool(article.get("published"))


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


async def _put(account: AccountClient, remote_id: str, article: RemoteArticle) -> AccountResponse:
    return await account.request("PUT", f"{_ARTICLES}/{remote_id}", json={"article": article})


def _tags(names: Sequence[str]) -> list[str]:
    """At most four tags, of lower-case letters and digits only."""
    plain = (re.sub(r"[^a-z0-9]", "", name.lower())[:30] for name in names)
    return list(dict.fromkeys(filter(None, plain)))[:_MOST_TAGS]


def _article(answer: AccountResponse) -> dict[str, Any]:
    if not isinstance(answer.json, dict) or "id" not in answer.json:
        raise UnknownOutcome(f"Dev.to's answer is not an article{quote_answer(answer)}")
    return answer.json
