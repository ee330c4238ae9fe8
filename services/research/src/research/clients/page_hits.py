"""Pages of the web as candidates: their words are counted by PostgreSQL as those of the index are, and nothing is stored.

A page is read for one keyword and ranked with the corpus in one go. So there is no index of the web that grows, has to be
cleaned, or could show one brand what was read for another.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chassis import Connection
from research.domain import Candidate, Page, Passage
from research.ranking import Hits, Places, Query


async def with_pages(connection: Connection, hits: Hits, pages: Sequence[Page]) -> Hits:
    """The hits and those of the pages; how often a word is used is counted over both."""
    if not hits.query.terms or not pages:
        return hits
    rows = await connection.fetch(
        "select (select jsonb_object_agg(lexeme, positions) from unnest(searchable(content)) where lexeme = any ($2))::text"
        " as places from unnest($1::text[]) with ordinality as given (content, n) order by n",
        [text for page in pages for text in _texts(page)],
        sorted(hits.query.wanted),
    )
    places = iter([_places(row["places"]) for row in rows])
    found: list[Candidate] = []
    bodies: list[Places] = []
    for number, page in enumerate(pages, start=1):
        title = next(places)
        for position, passage in enumerate(page.document.passages):
            heading, body = next(places), next(places)
            bodies.append(body)
            if body or all(heading.get(lexeme) for lexeme in hits.query.lexemes):
                found.append(_candidate(-number, page, position, passage, (title, heading, body)))
    return Hits(_counted(hits.query, bodies), [*hits.candidates, *found])


def _texts(page: Page) -> list[str]:
    """The title, then of each passage its heading and its text."""
    passages = page.document.passages
    return [page.document.title, *(text for each in passages for text in (each.heading or "", each.text))]


def _places(value: str | None) -> Mapping[str, Sequence[int]]:
    return json.loads(value) if value else {}


def _counted(query: Query, bodies: Sequence[Places]) -> Query:
    terms = tuple(
        replace(term, frequency=term.frequency + sum(term.lexeme in body for body in bodies))
        for term in query.terms
    )
    return replace(query, terms=terms, corpus_passages=query.corpus_passages + len(bodies))


def _candidate(
    number: int, page: Page, position: int, passage: Passage, hits: tuple[Places, Places, Places]
) -> Candidate:
    document = page.document
    title, heading, body = hits
    return Candidate(
        document_id=number,
        document_title=document.title,
        path=None,
        url=document.url,
        licence=document.licence,
        quality=document.quality * page.weight,
        passages_in_document=len(document.passages),
        position=position,
        passage=passage,
        published_on=document.published_on,
        body_hits=body,
        heading_hits=heading,
        title_hits=title,
        author=document.author,
        host=page.host,
        quotable=page.quotable,
    )
