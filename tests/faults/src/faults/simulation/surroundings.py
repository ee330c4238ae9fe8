"""What a process runs in, and what the checks look at: the schedule with its broker and its database."""

from typing import Protocol

from faults.simulation.broker.server import Broker
from faults.simulation.course import Course
from faults.simulation.database.store import Store


class Surroundings(Course, Protocol):
    @property
    def broker(self) -> Broker: ...

    @property
    def store(self) -> Store: ...
