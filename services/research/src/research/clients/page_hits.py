"""Turns web pages into ranking candidates. PostgreSQL counts their words as it does for the index, and stores nothing.

Pages are read for one keyword and ranked together with the corpus. So there is no growing index of the web to clean, and no
brand can see pages that were read for another.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chassis import Connection
from reading.document import DocumentPassage
from reading.ranking import KeywordQuery, Places, SearchHits
from reading.ranking.sources import CandidatePassage
from research.domain import WebPage


async def add_page_hits(connection: Connection, hits: SearchHits, pages: Sequence[WebPage]) -> SearchHits:
    """Add the pages' passages to the hits; word frequencies then count both."""
    if not hits.query.terms or not pages:
        return hits
    rows = await connection.fetch(
        "select (select jsonb_object_agg(lexeme, positions) from unnest(searchable(content)) where lexeme = any ($2))::text"
        " as places from unnest($1::text[]) with ordinality as given (content, n) order by n",
        [text for page in pages for text in _texts(page)],
        sorted(hits.query.wanted),
    )
    places = iter([_places(row["places"]) for row in rows])
    found: list[CandidatePassage] = []
    bodies: list[Places] = []
    for number, page in enumerate(pages, start=1):
        title = next(places)
        for position, passage in enumerate(page.document.passages):
            heading, body = next(places), next(places)
            bodies.append(body)
            if body or all(heading.get(lexeme) for lexeme in hits.query.lexemes):
                found.append(_candidate(-number, page, position, passage, (title, heading, body)))
    return SearchHits(_counted(hits.query, bodies), [*hits.candidates, *found])


def _texts(page: WebPage) -> list[str]:
    """Return the title, then heading and text of each passage."""
    passages = page.document.passages
    return [page.document.title, *(text for each in passages for text in (each.heading or "", each.text))]


def _places(value: str | None) -> Mapping[str, Sequence[int]]:
    return json.loads(value) if value else {}


def _counted(query: KeywordQuery, bodies: Sequence[Places]) -> KeywordQuery:
    terms = tuple(
        replace(term, frequency=term.frequency + sum(term.lexeme in body for body in bodies))
        for term in query.terms
    )
    return replace(query, terms=terms, corpus_passages=query.corpus_passages + len(bodies))


def _candidate(
    number: int, page: WebPage, position: int, passage: DocumentPassage, hits: tuple[Places, Places, Places]
) -> CandidatePassage:
    document = page.document
    title, heading, body = hits
    return CandidatePassage(
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
