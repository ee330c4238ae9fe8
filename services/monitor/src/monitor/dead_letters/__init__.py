"""Dead letters: records them, lists them, and lets operators replay or discard them."""

from monitor.dead_letters.api_models import Reason, StoredText
from monitor.dead_letters.canary import CanaryReplays
from monitor.dead_letters.canary_routes import canary_routes
from monitor.dead_letters.domain import DeadLetterState
from monitor.dead_letters.edits import record_edits
from monitor.dead_letters.finished_work import close_finished
from monitor.dead_letters.groups import unsettled_groups
from monitor.dead_letters.handlers import record, resolve
from monitor.dead_letters.mass_operation_routes import mass_operation_routes
from monitor.dead_letters.mass_operations import MassOperations
from monitor.dead_letters.message_states import states_of_messages
from monitor.dead_letters.operations import DeadLetterOperations
from monitor.dead_letters.queries import open_by_queue
from monitor.dead_letters.routes import OUTCOMES, REVEAL, routes
from monitor.dead_letters.store import lock_exclusive
from monitor.dead_letters.upkeep import delete_old, mask_bodies, remove, rename_queues

__all__ = [
    "OUTCOMES",
    "REVEAL",
    "CanaryReplays",
    "DeadLetterOperations",
    "DeadLetterState",
    "MassOperations",
    "Reason",
    "StoredText",
    "canary_routes",
    "close_finished",
    "delete_old",
    "lock_exclusive",
    "mask_bodies",
    "mass_operation_routes",
    "open_by_queue",
    "record",
    "record_edits",
    "remove",
    "rename_queues",
    "resolve",
    "routes",
    "states_of_messages",
    "unsettled_groups",
]
