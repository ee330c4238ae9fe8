"""Articles at further targets: requested from each further target of the brand once the home has the article."""

from orchestrator.placements.commands import set_home, update_all_targets, withdraw
from orchestrator.placements.domain import Placement, PlacementState, failures
from orchestrator.placements.further_targets import publish_to_further_targets, record_target_answers
from orchestrator.placements.models import PlacementView
from orchestrator.placements.routes import placement_routes
from orchestrator.placements.store import PLACEMENTS, placements_of, read_placements

__all__ = [
    "PLACEMENTS",
    "Placement",
    "PlacementState",
    "PlacementView",
    "failures",
    "placement_routes",
    "placements_of",
    "publish_to_further_targets",
    "read_placements",
    "record_target_answers",
    "set_home",
    "update_all_targets",
    "withdraw",
]
