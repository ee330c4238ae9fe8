"""Makes the C library give freed memory back to the system."""

import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
"""Of `malloc.h`."""
_M_ARENA_MAX: Final = -8
_BLOCK_BYTES: Final = 1 << 20


def give_back_large_blocks() -> None:
    """Lets blocks of 1 MB and more be the system's again as soon as they are freed, and has all threads share one heap.

    By itself glibc raises that bound to the size of the largest block that was freed, and keeps as much for the next one: after a few
    passwords, which take 19 MB each, up to that for each thread. Other C libraries know no such options and stay as they are.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, _BLOCK_BYTES)
        set_option(_M_ARENA_MAX, 1)
