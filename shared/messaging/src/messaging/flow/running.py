"""Notes which messages are in a handler of this process, so that operators see them."""

import os
import socket
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final
from uuid import uuid4

from chassis.database.pool import Connections
from messaging.flow.runner import QueueRunner
from messaging.storage import running
from messaging.storage.running import HandlerRun

NOTE_EVERY: Final = timedelta(seconds=3)
"""A third of the lease at most, so that one slow round leaves no process for dead."""
_SHORTEST: Final = timedelta(seconds=1)
"""A handler that has run for less is not noted, so that quick ones cost no statement."""


class RunningNotes:
    """Writes the row of this process in `running_messages` while it has a message for long."""

    def __init__(self, connections: Connections, runners: Sequence[QueueRunner]) -> None:
        self._connections = connections
        self._runners = runners
        self._process = uuid4()
        self._host = socket.gethostname()
        self._is_noted = False

    async def note(self) -> None:
        """Renews the row, or removes it if no handler has run for long and no message is held.

        Raises:
            DatabaseUnavailableError: the database is unavailable.
        """
        messages = [each for each in self._messages() if each.age >= _SHORTEST]
        held = [event_id for runner in self._runners for event_id in runner.held()]
        if not messages and not held and not self._is_noted:
            return
        async with self._connections.connection() as connection:
            if messages or held:
                # Before the statement: its reply may be lost.
                self._is_noted = True
                await running.renew(connection, self._process, self._host, os.getpid(), messages, held)
            else:
                await running.clear(connection, self._process)
                self._is_noted = False

    def _messages(self) -> Iterable[HandlerRun]:
        for runner in self._runners:
            yield from runner.running()
