"""For tests of what travels over a broker; `chassis.testing` has the rest."""

from messaging.testing.broker import Broker

__all__ = ["Broker"]
