"""What requests to others go out by: connections of asyncio, and one place that is asked over them again and again."""

from chassis.http.outgoing.origin import BROKEN, NOT_CONNECTED, Origin, header
from chassis.http.outgoing.streams import AsyncioConnections

__all__ = ["BROKEN", "NOT_CONNECTED", "AsyncioConnections", "Origin", "header"]
