"""Takes commands of other systems as messages: what they ask for is done once, however often they send it."""

from orchestrator.received_commands.from_broker import BrokerCommands
from orchestrator.received_commands.receiving import CommandOutcome, CommandReceiver
from orchestrator.received_commands.routes import LARGER_BODIES, command_routes
from orchestrator.received_commands.store import delete_old

__all__ = [
    "LARGER_BODIES",
    "BrokerCommands",
    "CommandOutcome",
    "CommandReceiver",
    "command_routes",
    "delete_old",
]
