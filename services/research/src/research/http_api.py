"""Read-only access to research results, for the orchestrator and for people."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, FastAPI, HTTPException, Query, Response
from pydantic import BaseModel, TypeAdapter

from chassis.http.api import READ, UNKNOWN, IfNoneMatch, api, conditional, router
from chassis.http.guard import Authorise
from messaging import Database
from research import store


class PassageView(BaseModel):
    heading: str | None
    text: str
    score: float
    flags: list[str]


class SourceView(BaseModel):
    n: int
    title: str
    url: str | None
    path: str | None
    licence: str | None
    passages: list[PassageView]


class ResearchView(BaseModel):
    """What an answer holds, for the API's description; the rows have this shape already."""

    research_id: UUID
    brand_slug: str
    keyword: str
    priority: str
    provider: str
    created_at: datetime
    expires_at: datetime
    sources: list[SourceView]


class ResearchList(BaseModel):
    items: list[ResearchView]


MAX_IDS = 50
_STORED = TypeAdapter(store.StoredResearch)
_STORED_LIST = TypeAdapter(dict[str, list[store.StoredResearch]])


def create_api(database: Database, authorise: Authorise) -> FastAPI:
    app = api("Brand Engine: research", authorise)
    app.include_router(_routes(database))
    return app


def _routes(database: Database) -> APIRouter:
    routes = router("/research")

    @routes.get("/{research_id}", response_model=ResearchView, responses={**READ, **UNKNOWN})
    async def read_research(research_id: str, if_none_match: IfNoneMatch = None) -> Response:
        research = await _find(database, research_id)
        return conditional(_STORED.dump_json(research), if_none_match)

    @routes.get("", response_model=ResearchList)
    async def read_several(
        research_id: Annotated[list[str], Query(alias="id", default_factory=list)],
    ) -> Response:
        """Up to 50 at a time; those that are unknown are left out."""
        if not 1 <= len(research_id) <= MAX_IDS:
            raise HTTPException(422, f"Name 1 to {MAX_IDS} research ids, each as a parameter “id”.")
        async with database.connection() as connection:
            found = await store.get_researches(connection, [_identity(each) for each in research_id])
        return Response(_STORED_LIST.dump_json({"items": found}), media_type="application/json")

    return routes


async def _find(database: Database, research_id: str) -> store.StoredResearch:
    identity = _identity(research_id)
    async with database.connection() as connection:
        research = await store.get_research(connection, identity)
    if research is None:
        raise HTTPException(404, f"There is no research {identity}; take the id from research.completed.")
    return research


def _identity(research_id: str) -> UUID:
    try:
        return UUID(research_id)
    except ValueError:
        raise HTTPException(
            404, f"“{research_id}” is no research id; take the UUID from research.completed."
        ) from None
