"""Outgoing requests: connections over asyncio, and a client for one origin."""

from chassis.http.outgoing.origin import BROKEN, NOT_CONNECTED, Origin, header
from chassis.http.outgoing.streams import AsyncioConnections

__all__ = ["BROKEN", "NOT_CONNECTED", "AsyncioConnections", "Origin", "header"]
