"""For tests of services: run one for real, look at a real broker, stand between it and its servers, wait for conditions."""

from messaging.testing.broker import Broker
from messaging.testing.proxy import Strike, TcpProxy, Towards
from messaging.testing.services import running
from messaging.testing.waiting import eventually

__all__ = ["Broker", "Strike", "TcpProxy", "Towards", "eventually", "running"]
