"""What requests to others go out by: connections of asyncio, under the client that frames and parses."""

from chassis.http.outgoing.streams import AsyncioConnections

__all__ = ["AsyncioConnections"]
