"""Read-only access to research results, for the orchestrator and for people."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from pydantic import BaseModel, TypeAdapter

from chassis import ServiceKey
from chassis.http.pages import respond
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


def create_api(database: Database, service_key: ServiceKey) -> FastAPI:
    api = FastAPI(
        title="Brand Engine: research",
        dependencies=[Depends(service_key)],
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
        },  # messaging has them, and knows the chains
    )

    @api.get(
        "/v1/research/{research_id}",
        response_model=ResearchView,
        responses={304: {"description": "unchanged"}, 404: {"description": "unknown id"}},
    )
    async def read_research(research_id: str, request: Request) -> Response:
        research = await _find(database, research_id)
        body = _STORED.dump_json(research)
        return respond(request, body, media_type="application/json", cache_control="private, no-cache")

    @api.get("/v1/research", response_model=ResearchList)
    async def read_several(
        research_id: Annotated[list[str], Query(alias="id", default_factory=list)],
    ) -> Response:
        """Up to 50 at a time; those that are unknown are left out."""
        if not 1 <= len(research_id) <= MAX_IDS:
            raise HTTPException(422, f"Name 1 to {MAX_IDS} research ids, each as a parameter “id”.")
        async with database.connection() as connection:
            found = await store.get_researches(connection, [_identity(each) for each in research_id])
        return Response(_STORED_LIST.dump_json({"items": found}), media_type="application/json")

    return api


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
