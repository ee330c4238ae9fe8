"""Writing to the broker: frames of ours go to a connection's writer whole, and in the order of the calls.

The client library (aiormq 7.x) keeps a queue of ten writes before its writer. To `put` there is to wait for ever once
the writer has ended, and lets a later call overtake an earlier one. So here one waits until there is room, or nothing
left to write to, and then writes without waiting.
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
    """Returns once a `write` can be taken; False if the channel is gone, and whatever is written to it too."""
    while is_writable(channel):
        if not channel.write_queue.full():
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False


def is_writable(channel: Any) -> bool:
    """Whether the channel is open on both sides, as far as is known here.

    One that the broker has closed is taken off its connection at once, and known as closed somewhat later; a frame on
    it in between would cost the whole connection.
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
