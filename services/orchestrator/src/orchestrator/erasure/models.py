"""What the API takes and gives of erasures."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.erasure.store import Erasure
from orchestrator.requests import RequestBody


class ErasureBody(RequestBody):
    confirm: Annotated[str, Field(max_length=100, examples=["acme-coffee"])]
    """The brand's slug once more, so that nobody erases another one by mistake."""


class ErasureReceiptView(View):
    service: Annotated[str, Field(examples=["publisher"])]
    erased_at: datetime
    removed: dict[str, int]
    """How many of what."""
    elsewhere: tuple[str, ...]
    """Addresses of what the brand still has on sites and accounts of others, the newest 200; known for 30 days."""
    elsewhere_count: int
    """How many there are, those without an address included."""


class ErasureView(View):
    erasure_id: UUID
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    state: Literal["erased", "erasing"]
    """`erased` once every service has answered; then a brand may have the name again."""
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None
    receipts: tuple[ErasureReceiptView, ...]
    """Of the services that have answered, in that order."""

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        return cls(
            erasure_id=erasure.erasure_id,
            brand_slug=erasure.brand_slug,
            state="erasing" if erasure.ended_at is None else "erased",
            asked_by=erasure.asked_by,
            asked_at=erasure.asked_at,
            ended_at=erasure.ended_at,
            receipts=tuple(
                ErasureReceiptView(
                    service=each.service,
                    erased_at=each.erased_at,
                    removed=dict(each.removed),
                    elsewhere=each.elsewhere,
                    elsewhere_count=each.elsewhere_count,
                )
                for each in erasure.receipts
            ),
        )
