"""Tools that submit keywords and follow them."""

import json
from typing import Annotated, Any, Final
from uuid import UUID

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from assistants.finding import Brand
from assistants.services import READS, SUBMITS, Connect, asking

_MOST_KEYWORDS: Final = 20
"""Of one call: what a person can still look through."""

Keyword = Annotated[str, Field(min_length=1, max_length=200)]


class Submitted(BaseModel):
    cycle_id: str
    """For follow_keywords."""
    keywords: int
    """How many are worked on; spellings of one keyword count once."""
    waits_for_a_person: bool
    """Whether a person decides about each article before it is published."""


class FollowedKeyword(BaseModel):
    keyword: str
    state: str
    reason: str | None
    """Why it ended without an article."""
    waits: str | None
    """What it waits for."""
    content_id: str | None
    """Its article, for read_draft."""
    published_url: str | None


class Progress(BaseModel):
    brand: str
    state: str
    percent: int
    held_up: str | None
    """Why nothing more begins."""
    keywords: list[FollowedKeyword]
    next: int | None
    """Send it as `after` for more; null: there are no more."""


def add_tools(server: MCPServer, connect: Connect) -> None:
    @server.tool(annotations=SUBMITS)
    async def submit_keywords(
        context: Context[Any, Any],
        brand: Brand,
        keywords: Annotated[list[Keyword], Field(min_length=1, max_length=_MOST_KEYWORDS)],
        request_id: Annotated[
            str,
            Field(
                description="An id of your own for this request. The same one again submits nothing twice.",
                pattern="^[A-Za-z0-9._-]{8,100}$",
            ),
        ],
        max_cost: Annotated[
            float | None, Field(description="The most US dollars for all of them.", ge=0.01, le=1000)
        ] = None,
    ) -> Submitted:
        """Has an article researched and written for each keyword. Costs money if the brand's writer is a model.

        Each article becomes a draft that a person decides about, unless the key may review: then the brand's own setting holds.
        """
        async with asking(connect, context) as services:
            own = await services.orchestrator.get_own_key()
            may_review = "review" in own["scopes"]
            told = await services.orchestrator.submit_keywords(
                brand,
                json.dumps(
                    {"keywords": keywords, "approval": None if may_review else "everything"}
                    | ({} if max_cost is None else {"max_cost": max_cost})
                ).encode(),
                idempotency_key=f"assistant-{request_id}",
            )
            policy = await services.orchestrator.get_brand(brand, counters=False) if may_review else None
        return Submitted(
            cycle_id=told["cycle_id"],
            keywords=told["total"],
            waits_for_a_person=policy is None or policy["approval"] == "everything",
        )

    @server.tool(annotations=READS)
    async def follow_keywords(
        context: Context[Any, Any],
        cycle_id: Annotated[UUID, Field(description="From submit_keywords or find.")],
        after: Annotated[int | None, Field(description="`next` of the answer before.", ge=0)] = None,
    ) -> Progress:
        """Shows how far submitted keywords are, and what each waits for. Ask again after half a minute, not sooner."""
        async with asking(connect, context) as services:
            cycle = await services.orchestrator.get_cycle(cycle_id)
            found = await services.orchestrator.list_cycle_keywords(cycle_id, after=after, limit=50)
        return Progress(
            brand=cycle["brand_slug"],
            state=cycle["state"],
            percent=cycle["percent"],
            held_up=None if cycle["held_up"] is None else cycle["held_up"]["reason"],
            keywords=[FollowedKeyword.model_validate(dict(each)) for each in found["items"]],
            next=found["next"],
        )
