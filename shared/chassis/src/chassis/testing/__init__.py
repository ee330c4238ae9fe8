"""Test helpers: run a real process, put a faulty proxy before its servers, receive its spans, wait for conditions."""

from chassis.testing.apps import running, serving
from chassis.testing.proxy import Direction, ServerProxy, Strike, TcpProxy
from chassis.testing.waiting import eventually

__all__ = ["Direction", "ServerProxy", "Strike", "TcpProxy", "eventually", "running", "serving"]
