"""Read-only access to research results, for the orchestrator and for people."""

from datetime import datetime
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict

from messaging import Database, ServiceKey
from messaging.pages import respond
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
    model_config = ConfigDict(from_attributes=True)

    research_id: UUID
    brand_slug: str
    keyword: str
    priority: str
    provider: str
    created_at: datetime
    expires_at: datetime
    sources: list[SourceView]


def create_api(database: Database, service_key: ServiceKey) -> FastAPI:
    api = FastAPI(title="Brand Engine: research", dependencies=[Depends(service_key)])

    @api.get(
        "/v1/research/{research_id}",
        response_model=ResearchView,
        responses={304: {"description": "unchanged"}, 404: {"description": "unknown id"}},
    )
    async def read_research(research_id: str, request: Request) -> Response:
        research = await _find(database, research_id)
        body = ResearchView.model_validate(research).model_dump_json()
        return respond(request, body, media_type="application/json", cache_control="private, no-cache")

    return api


async def _find(database: Database, research_id: str) -> store.StoredResearch:
    try:
        identity = UUID(research_id)
    except ValueError:
        raise HTTPException(
            404, f"“{research_id}” is no research id; take the UUID from research.completed."
        ) from None
    async with database.connection() as connection:
        research = await store.get_research(connection, identity)
    if research is None:
        raise HTTPException(404, f"There is no research {identity}; take the id from research.completed.")
    return research
