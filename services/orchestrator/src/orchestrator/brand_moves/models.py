"""API bodies and views of moves."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from chassis.http.api import View
from orchestrator.brand_moves.store import BrandMove, MoveStep
from orchestrator.requests import WITHOUT_NUL, RequestBody


class MoveBody(RequestBody):
    """Where a brand moves."""

    to: Annotated[
        str, Field(min_length=1, max_length=300, pattern=WITHOUT_NUL, examples=["https://eu.example.com"])
    ]
    """The address of the other installation, as people are told."""


class MoveStepBody(RequestBody):
    """The step that a move has reached."""

    move_id: UUID
    step: MoveStep


class BrandMoveView(View):
    """How far the move of a brand to another installation is."""

    brand_slug: str
    move_id: UUID
    """The import at the other installation has the same id."""
    to: str
    step: MoveStep
    """`draining`: paused, and what runs ends. `frozen`: nothing changes here any more. `imported`: the other installation has all of it.
    `handing_over`: the accounts change over; there is no way back. `moved`: nothing is published here again. `resumed`: the other one goes on.
    """
    was_paused: bool
    """Whether a person had paused the brand before; then it stays paused at the other installation."""
    begun_by: str
    begun_at: datetime
    frozen_at: datetime | None
    moved_at: datetime | None
    under_way: dict[str, int]
    """What still runs here, by kind; the brand is frozen only without any."""

    @classmethod
    def of(cls, move: BrandMove, under_way: dict[str, int]) -> "BrandMoveView":
        return cls(
            brand_slug=move.brand_slug,
            move_id=move.move_id,
            to=move.moved_to,
            step=move.step,
            was_paused=move.was_paused,
            begun_by=move.begun_by,
            begun_at=move.begun_at,
            frozen_at=move.frozen_at,
            moved_at=move.moved_at,
            under_way=under_way,
        )
