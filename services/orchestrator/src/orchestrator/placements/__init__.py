"""Where an article is beside its home: each further target of its brand is asked for it once the home has it."""

from orchestrator.placements.asking import ask_everywhere, placed_as, withdraw
from orchestrator.placements.domain import Placement, PlacementState, failures
from orchestrator.placements.models import PlacementView
from orchestrator.placements.routes import placement_routes
from orchestrator.placements.spreading import learn, spread
from orchestrator.placements.store import PLACEMENTS, placements_of, read_placements

__all__ = [
    "PLACEMENTS",
    "Placement",
    "PlacementState",
    "PlacementView",
    "ask_everywhere",
    "failures",
    "learn",
    "placed_as",
    "placement_routes",
    "placements_of",
    "read_placements",
    "spread",
    "withdraw",
]
