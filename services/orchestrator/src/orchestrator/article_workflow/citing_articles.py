"""The articles that cite a document, and which of their sentences rest on it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from orchestrator.article_workflow.article_search import ArticleState, FoundArticle, load_articles
from orchestrator.article_workflow.versions import VersionEvidence, find_evidence_of
from writing.article import KeptSentence

MAX_PATH: Final = 1_000


@dataclass(frozen=True, slots=True)
class CitingSentence:
    """A sentence that rests on a document."""

    text: str
    heading: str
    """Of its section in the article; empty in the opening."""
    verdict: str
    given_by: str
    titles: tuple[str, ...]
    """The titles above its passage in the document, the page's first."""


@dataclass(frozen=True, slots=True)
class CitingArticle:
    content_id: UUID
    brand_slug: str
    keyword: str
    title: str
    state: ArticleState
    published_url: str | None
    version: int
    sentences: tuple[CitingSentence, ...]


async def find_citing(
    connection: Connection, path: str, *, brands: Collection[str] | None, after: UUID | None, limit: int
) -> list[CitingArticle]:
    """Returns a page of the articles that cite the document with this path, the latest first; `brands` None: of all brands."""
    rows = await connection.fetch(
        """
        with citing as materialized (
            select content_id, sources::text as sources from content
            where sources @> $1::text::jsonb and ($2::text[] is null or brand_slug = any ($2))
        )
        select content_id, sources from citing where $3::uuid is null or content_id < $3 order by content_id desc limit $4
        """,
        json.dumps([{"path": path}]),
        None if brands is None else sorted(brands),
        after,
        limit,
    )
    cited = {
        row["content_id"]: [each for each in json.loads(row["sources"]) if each["path"] == path]
        for row in rows
    }
    evidence = await find_evidence_of(connection, [*cited])
    articles = await load_articles(connection, [*evidence])
    return [_citing(each, cited[each.content_id], evidence[each.content_id]) for each in articles]


def _citing(
    article: FoundArticle, sources: Sequence[Mapping[str, Any]], found: VersionEvidence
) -> CitingArticle:
    return CitingArticle(
        content_id=article.content_id,
        brand_slug=article.brand_slug,
        keyword=article.keyword,
        title=article.title,
        state=article.state,
        published_url=article.published_url,
        version=found.version,
        sentences=tuple(_sentences({each["n"]: each for each in sources}, found)),
    )


def _sentences(sources: Mapping[int, Mapping[str, Any]], found: VersionEvidence) -> Iterator[CitingSentence]:
    for each in found.evidence.sentences:
        passages = [
            found.evidence.passages[name] for name in each.passages if name in found.evidence.passages
        ]
        own = [passage for passage in passages if passage.n in sources]
        cited = next((sources[n] for n in each.sources if n in sources), None)
        if own or (cited and not passages):
            titles = own[0].titles if own else _quoted_place(cited or {}, each)
            yield CitingSentence(each.text, each.heading, each.verdict, each.given_by, titles)


def _quoted_place(source: Mapping[str, Any], sentence: KeptSentence) -> tuple[str, ...]:
    """Where a quotation stands: a digest's headings are those of its source."""
    titles = (source["title"], source.get("section"), sentence.heading)
    return tuple(dict.fromkeys(each for each in titles if each))
