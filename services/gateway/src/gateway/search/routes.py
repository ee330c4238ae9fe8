"""`POST /v1/search`."""

from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from gateway.problems import FROM_PROVIDERS
from gateway.providers.search_results import MAX_COUNT, Freshness, SearchQuery, SearchResult
from gateway.requests import Brand, IdempotencyKey
from gateway.search.web_search import SearchCall, WebSearch
from integrations.search_engines import SEARCH_ENGINES

_PREFERRED: Final = ", else ".join(engine.title for engine in SEARCH_ENGINES.values())


class SearchRequest(BaseModel):
    """A search of the web."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    query: str
    """At most 400 characters and 50 words."""
    brand: Brand
    provider: Annotated[
        str | None,
        StringConstraints(max_length=63),
        Field(description=f"Name of an account, as in `brandctl providers list`; left out: {_PREFERRED}."),
    ] = None
    count: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 10
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] | None = None
    """Such as `en` or `pt-BR`."""
    freshness: Freshness | None = None
    """Maximum age of the results."""

    @field_validator("query")
    @classmethod
    def _can_be_asked(cls, query: str) -> str:
        return SearchQuery.checked_text(query)


class SearchAnswer(View):
    provider: str
    query: str
    results: list[SearchResult]
    call_id: UUID
    """The entry of the ledger."""
    spent: int
    """Micro-dollars charged for this request."""
    kept: bool
    """The answer is from an earlier call."""


SEARCH: Final = "/v1/search"


def search_routes(web_search: WebSearch) -> APIRouter:
    routes = router(SEARCH.removeprefix("/v1"), tags=["Search"])

    @routes.post("", dependencies=[needs(Scope.SUBMIT)], summary="Search the web", responses=FROM_PROVIDERS)
    async def search_web(request: SearchRequest, idempotency_key: IdempotencyKey = None) -> SearchAnswer:
        query = SearchQuery(
            text=request.query,
            count=request.count,
            language=request.language,
            freshness=request.freshness,
        )
        provider, answer = await web_search.search(
            SearchCall(query, request.brand, request.provider, idempotency_key)
        )
        return SearchAnswer.model_validate(
            {
                "provider": provider,
                "query": query.text,
                "results": answer.value,
                "call_id": answer.call_id,
                "spent": answer.spent,
                "kept": answer.kept,
            }
        )

    return routes
