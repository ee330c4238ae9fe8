"""Tools for tests of messages at a broker and of handlers' records; `chassis.testing` has the rest."""

from messaging.testing.broker import Broker
from messaging.testing.records import write_records

__all__ = ["Broker", "write_records"]
