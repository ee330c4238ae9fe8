"""For tests of what travels over a broker, and of what handlers leave to be written; `chassis.testing` has the rest."""

from messaging.testing.broker import Broker
from messaging.testing.records import write_records

__all__ = ["Broker", "write_records"]
