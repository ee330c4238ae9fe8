"""Messages that died: recorded, shown, sent again or closed."""

from monitor.dead_letters.finished_work import close_finished
from monitor.dead_letters.handlers import record, resolve
from monitor.dead_letters.operations import Operations
from monitor.dead_letters.reading import open_by_queue, waiting_alike
from monitor.dead_letters.removal import remove
from monitor.dead_letters.renaming import run as rename
from monitor.dead_letters.retention import Retention
from monitor.dead_letters.routes import OUTCOMES, routes
from monitor.dead_letters.store import take_order

__all__ = [
    "OUTCOMES",
    "Operations",
    "Retention",
    "close_finished",
    "open_by_queue",
    "record",
    "remove",
    "rename",
    "resolve",
    "routes",
    "take_order",
    "waiting_alike",
]
