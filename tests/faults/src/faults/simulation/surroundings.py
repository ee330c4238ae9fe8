"""The schedule with its broker and database, as processes and checks see it."""

from typing import Protocol

from faults.simulation.broker.server import SimulatedBroker
from faults.simulation.course import ScheduleCourse
from faults.simulation.database.store import SimulatedDatabase


class SimulatedServers(ScheduleCourse, Protocol):
    @property
    def broker(self) -> SimulatedBroker: ...

    @property
    def store(self) -> SimulatedDatabase: ...
