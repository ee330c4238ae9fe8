"""Reading articles from the orchestrator: `GET /v1/content/{id}`."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from pydantic import BaseModel, SecretStr, ValidationError

from chassis.http.client import (
    GoneError,
    JsonAnswer,
    NotThereError,
    PassingError,
    Peer,
    ServiceClient,
    Unchanged,
    UnusableAnswerError,
)
from chassis.http.documents import Documents
from envelope.brand.article import ArticleText
from messaging import Dependency, RetryLater, Unprocessable
from publisher.domain import Article, CitedSource

__all__ = ["Fetched", "OrchestratorClient", "Unchanged"]


@dataclass(frozen=True, slots=True)
class Fetched:
    article: Article
    etag: str | None


class _ListedArticle(BaseModel):
    etag: str
    content: Article


class _ArticleList(BaseModel):
    items: tuple[_ListedArticle, ...]


class _VersionText(ArticleText):
    """What `GET /v1/content/{id}/versions/{version}` has of a version and a page shows."""

    sources: tuple[CitedSource, ...]


class OrchestratorClient:
    """Reads articles over one HTTP connection pool for the life of the service.

    `url` is ORCHESTRATOR_URL; `orchestrator` tracks whether that server can be reached.
    """

    def __init__(
        self,
        url: str,
        key: SecretStr,
        *,
        timeout_seconds: float,
        max_bytes: int,
        orchestrator: Dependency,
    ) -> None:
        self._orchestrator = orchestrator
        self._client = ServiceClient(
            Peer("the orchestrator", url, "ORCHESTRATOR_URL", key),
            timeout_seconds=timeout_seconds,
            max_bytes=max_bytes,
            max_bytes_setting="CONTENT_MAX_BYTES",
        )
        self._articles = Documents(self._client, "content", read_one=_read_one, read_list=_read_list)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

    async def article(self, content_id: UUID, *, known_etag: str | None = None) -> Fetched | Unchanged | None:
        """The current article, `Unchanged` if `known_etag` still matches, or None if the article was deleted.

        Raises:
            WaitFor: the orchestrator is away, busy, or refuses our key.
            RetryLater: the orchestrator failed on this article, or does not have it yet (after a restore, or on a lagging replica).
            Unprocessable: the answer breaks the contract or is too large.
        """
        try:
            async with self._orchestrator.call():
                if known_etag is None:
                    return await self._articles.get(content_id)
                return await self._articles.get_if_changed(content_id, known_etag)
        except PassingError as problem:
            raise RetryLater(str(problem), after=problem.after) from problem
        except GoneError:
            return None
        except UnusableAnswerError as problem:
            raise Unprocessable(str(problem)) from problem

    async def version(self, content_id: UUID, version: int) -> Article | None:
        """The article with the text of one of its versions; None if there is no such version, or the article was deleted.

        Raises: as `article`.
        """
        current = await self.article(content_id)
        if not isinstance(current, Fetched):
            return None
        path = f"/v1/content/{content_id}/versions/{version}"
        try:
            async with self._orchestrator.call():
                answer = await self._client.get(path, about=f"version {version} of content {content_id}")
        except NotThereError:
            return None
        except PassingError as problem:
            raise RetryLater(str(problem), after=problem.after) from problem
        except UnusableAnswerError as problem:
            raise Unprocessable(str(problem)) from problem
        assert isinstance(answer, JsonAnswer)
        try:
            text = _VersionText.model_validate_json(answer.body)
            return Article.model_validate({**current.article.model_dump(), **text.model_dump()})
        except ValidationError as problem:
            raise Unprocessable(f"{path}: {problem}") from problem


def _read_one(content_id: UUID, answer: JsonAnswer) -> Fetched:
    article = Article.model_validate_json(answer.body)
    if article.content_id != content_id:
        raise UnusableAnswerError(
            f"asked for content {content_id}, the orchestrator sent {article.content_id}"
        )
    return Fetched(article, answer.etag)


def _read_list(body: bytes) -> dict[UUID, Fetched]:
    items = _ArticleList.model_validate_json(body).items
    return {item.content.content_id: Fetched(item.content, item.etag) for item in items}
