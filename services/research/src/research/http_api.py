"""Read-only access to research results, for the orchestrator and for people."""

import hashlib
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, Header, HTTPException, Response
from pydantic import BaseModel, ConfigDict

from messaging import Database, ServiceKey
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
    async def read_research(
        research_id: str, if_none_match: Annotated[str | None, Header()] = None
    ) -> Response:
        research = await _find(database, research_id)
        body = ResearchView.model_validate(research).model_dump_json().encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
        if if_none_match is not None and _matches(if_none_match, etag):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

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


def _matches(if_none_match: str, etag: str) -> bool:
    candidates = {value.strip().removeprefix("W/") for value in if_none_match.split(",")}
    return "*" in candidates or etag in candidates
