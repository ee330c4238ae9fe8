"""What a process runs in, and what the checks look at: the schedule with its broker and its database."""

from typing import Protocol

from faults.simulation.broker.server import SimulatedBroker
from faults.simulation.course import ScheduleCourse
from faults.simulation.database.store import SimulatedDatabase


class SimulatedServers(ScheduleCourse, Protocol):
    @property
    def broker(self) -> SimulatedBroker: ...

    @property
    def store(self) -> SimulatedDatabase: ...
