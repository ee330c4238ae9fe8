"""Requests about cycles: keywords handed in, and how they fare."""

import hashlib
import json
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, HTTPException, Response

from chassis.http.api import READ, UNKNOWN, IfNoneMatch, MayRead, MaySubmit, conditional, refusal, router
from chassis.observing import chains
from envelope import new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from orchestrator.answers import LOCATION
from orchestrator.brands import Slug, seen_slug
from orchestrator.cycles.begin import begin_cycle
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.models import CycleAccepted, CycleView, ResearchRequest
from orchestrator.cycles.store import NewCycle, find_cycle, keywords_of

MAX_IDEMPOTENCY_KEY: Final = 200
CYCLE_ID: Final = f"{CATALOGUE.system}.cycle_id"
"""Attribute of the request's span, so that its trace is found by the cycle's id."""
LARGER_BODIES: Final = {"/v1/brands/{slug}/research": 2_500_000}
"""1,000 keywords of 200 characters, each written as two JSON escapes, come to 2.4 MB."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        description=f"Any 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters that name this request. Sent again with "
        "the same body, it returns the cycle of the first time instead of beginning another.",
        examples=["campaign-2026-07"],
    ),
]
REUSED_KEY: Final = refusal(HTTPStatus.CONFLICT, "The Idempotency-Key was used for another body.")


def cycle_routes(database: Database) -> APIRouter:
    """For readers of the API's page, handing in keywords belongs to the brand they are for."""
    routes = APIRouter()
    routes.include_router(_handing_in(database))
    routes.include_router(_watching(database))
    return routes


def _handing_in(database: Database) -> APIRouter:
    routes = router(tags=["brands"])

    @routes.post(
        "/brands/{slug}/research",
        summary="Turn keywords into articles",
        status_code=HTTPStatus.ACCEPTED,
        responses={
            202: {"headers": LOCATION, "description": "Accepted; watch the cycle at `Location`."},
            **UNKNOWN,
            **REUSED_KEY,
        },
    )
    async def post_research(
        caller: MaySubmit,
        slug: Slug,
        request: ResearchRequest,
        response: Response,
        idempotency_key: IdempotencyKey = None,
    ) -> CycleAccepted:
        """Accepts the keywords as one cycle. Each is researched, written, published and promoted by itself."""
        wanted = NewCycle(
            cycle_id=CycleId(new_event_id()),
            correlation_id=str(new_event_id()),
            brand_slug=seen_slug(slug, caller),
            priority=request.priority,
            keywords=request.keywords,
            idempotency_key=_checked_idempotency_key(idempotency_key),
            request_digest=_digest(request),
        )
        cycle = await begin_cycle(database, wanted)
        chains.name_chain(cycle.correlation_id, also={CYCLE_ID: str(cycle.cycle_id)})
        response.headers["Location"] = f"/v1/cycles/{cycle.cycle_id}"
        return CycleAccepted.of(cycle)

    return routes


def _watching(database: Database) -> APIRouter:
    routes = router(tags=["cycles"])

    @routes.get(
        "/cycles/{cycle_id}",
        summary="Watch a cycle",
        response_model=CycleView,
        responses={**READ, **UNKNOWN},
    )
    async def get_cycle(caller: MayRead, cycle_id: UUID, if_none_match: IfNoneMatch = None) -> Response:
        """Progress of all keywords, in the order they were handed in."""
        async with database.connection() as connection:
            cycle = await find_cycle(connection, cycle_id, caller.brands)
            rows = await keywords_of(connection, cycle_id) if cycle else []
        if cycle is None:
            raise HTTPException(
                HTTPStatus.NOT_FOUND,
                f"there is no cycle {cycle_id}; cycles are kept for a limited time after they end",
            )
        return conditional(CycleView.of(cycle, rows).model_dump_json(), if_none_match)

    return routes


def _checked_idempotency_key(key: str | None) -> str | None:
    if key is None or (key.isascii() and key.isprintable() and 1 <= len(key) <= MAX_IDEMPOTENCY_KEY):
        return key
    raise HTTPException(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"Idempotency-Key must be 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters; leave it out if you need none",
    )


def _digest(request: ResearchRequest) -> bytes:
    return hashlib.sha256(json.dumps([request.priority, request.keywords]).encode()).digest()
