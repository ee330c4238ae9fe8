"""Writes frames to a connection, whole and in the order of the calls.

The client library (aiormq 7.x) has a queue of ten writes before its writer. `put` on that queue blocks for ever once the writer
has ended, and lets a later call overtake an earlier one. So callers wait for room here first, then write without waiting.
"""

import asyncio
import struct
from typing import Any, Final

from aiormq.abc import ChannelFrame

_LOOK_SECONDS: Final = 0.005
_FRAME_END: Final = 0xCE
_CLASS_BASIC: Final = 60
_ACK, _REJECT, _NACK = 80, 90, 120
_MULTIPLE, _AND_REQUEUE = 1, 2
# Frame type, channel, size of the rest; class, method; delivery tag, flags; end (AMQP 0-9-1, section 1.8.3).
SETTLEMENT: Final = struct.Struct(">BHIHHQBB")


async def wait_for_room(channel: Any) -> bool:
    """Returns True once `write` has room; False if the channel is closed, and writes to it are lost."""
    while is_writable(channel):
        if not channel.write_queue.full():
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False


def is_writable(channel: Any) -> bool:
    """Whether the channel is open on both sides, as far as this process knows.

    The library takes a channel that the broker has closed off its connection at once, and marks it closed later. A frame written in
    between would cost the whole connection.
    """
    return not channel.is_closed and channel.connection.channels.get(channel.number) is channel


def write(channel: Any, frames: bytes) -> None:
    """Hands over whole frames; only with nothing awaited since `room`.

    Raises:
        asyncio.QueueFull: there was no room.
    """
    channel.write_queue.put_nowait(ChannelFrame(payload=frames, should_close=False))


def ack(channel: Any, tag: int, *, multiple: bool) -> bytes:
    return _settlement(channel, _ACK, tag, _MULTIPLE if multiple else 0)


def reject(channel: Any, tag: int) -> bytes:
    """To the dead-letter exchange of its queue."""
    return _settlement(channel, _REJECT, tag, 0)


def requeue(channel: Any, tag: int) -> bytes:
    """Back to its queue without blame: RabbitMQ 4.3 does not count a `nack` towards the delivery limit."""
    return _settlement(channel, _NACK, tag, _AND_REQUEUE)


def _settlement(channel: Any, method: int, tag: int, flags: int) -> bytes:
    return SETTLEMENT.pack(1, channel.number, 13, _CLASS_BASIC, method, tag, flags, _FRAME_END)
