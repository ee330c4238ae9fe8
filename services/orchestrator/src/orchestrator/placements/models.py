"""API bodies and views of placements."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from chassis.http.api import View
from orchestrator.placements.domain import PlacementState
from orchestrator.requests import RequestBody


class PlacementView(View):
    """An article at one of its brand's further targets."""

    target: Annotated[str, Field(examples=["company-blog"])]
    state: PlacementState
    """`withdrawn`: the target was asked to remove it, and answers only if that fails."""
    url: str | None
    reason: str | None
    """Why it failed."""
    asked_at: datetime
    answered_at: datetime | None


class PlacementList(View):
    content_id: str
    home: Annotated[str, Field(examples=["site"])]
    """The target with the canonical address."""
    published_url: str | None
    """Its URL at the home."""
    items: tuple[PlacementView, ...]


class PlacementBody(RequestBody):
    overwrite: bool = False
    """Overwrite changes that people made at the target."""
