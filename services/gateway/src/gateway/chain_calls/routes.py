"""The calls that were made for one chain."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import ConfigDict

from chassis import Connections
from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from chassis.http.chain_headers import MAX_LENGTH
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from gateway.chain_calls import store


class ChainCallView(View):
    """A call that the gateway made for a chain: to whom, when, how it ended, and what it cost. Never what was said."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    brand: str | None
    """null: pages are read for no brand."""
    kind: Literal["model", "search", "page", "account"]
    target: str
    """Name of the account of a provider or a brand, or the host of a page."""
    subject: str
    """The model, `search`, `page` or `feed`, or method and path at the account."""
    began_at: datetime
    ended_at: datetime | None
    """null: it is under way, or its process died."""
    state: Literal["reserved", "sent", "settled", "released", "presumed"]
    """As in the ledger: `sent` is under way; `presumed`: the process died before the answer, so the call counts at its maximum."""
    spent: int
    """Micro-dollars."""
    problem: str | None
    """Code of the problem, if there was no answer."""


class ChainCallList(View):
    items: list[ChainCallView]
    """The oldest first."""
    next: UUID | None
    """Send it as `after` to get the next page."""
    calls: int
    """Number of all calls of the chain."""
    spent: int
    """Micro-dollars that all of them cost."""


def chain_routes(connections: Connections) -> APIRouter:
    routes = router("/chain-calls", tags=["Money"])

    @routes.get("", dependencies=[needs(Scope.READ)], summary="List the calls of a chain")
    async def list_chain_calls(
        correlation_id: Annotated[
            str, Query(description="The chain's.", min_length=1, max_length=MAX_LENGTH, pattern=r"^[^\x00]*$")
        ],
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> ChainCallList:
        """The calls that were made for a request of a brand: to models, searches, pages and accounts. Answers from the cache are none."""
        async with connections.connection() as connection:
            found = await store.page(connection, correlation_id, after, limit + 1)
            totals = await store.totals(connection, correlation_id)
        shown = [ChainCallView.model_validate(each) for each in found[:limit]]
        return ChainCallList(
            items=shown,
            next=shown[-1].id if len(found) > limit else None,
            calls=totals.calls,
            spent=totals.spent,
        )

    return routes
