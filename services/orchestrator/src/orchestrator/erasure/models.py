"""API bodies and views of erasures."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.requests import RequestBody


class ErasureBody(RequestBody):
    confirm: Annotated[str, Field(max_length=100, examples=["acme-coffee"])]
    """The brand's slug again, so that no other brand is erased by mistake."""


class ErasureReceiptView(View):
    service: Annotated[str, Field(examples=["publisher"])]
    erased_at: datetime
    removed: dict[str, int]
    """Removed rows by kind."""
    elsewhere: tuple[str, ...]
    """URLs of the brand's content on external sites and accounts, the newest 200; listed for 30 days."""
    elsewhere_count: int
    """Their number, those without a URL included."""


class ErasureView(View):
    erasure_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: Literal["erased", "erasing"]
    """`erased` once every service has confirmed; then another brand may take the name."""
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None
    receipts: tuple[ErasureReceiptView, ...]
    """One for each service that has confirmed, in that order."""
