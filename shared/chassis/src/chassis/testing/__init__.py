"""For tests: run a process for real, stand between it and its servers, receive its spans, wait for conditions."""

from chassis.testing.apps import running, serving
from chassis.testing.proxy import ServerProxy, Strike, TcpProxy, Towards
from chassis.testing.waiting import eventually

__all__ = ["ServerProxy", "Strike", "TcpProxy", "Towards", "eventually", "running", "serving"]
