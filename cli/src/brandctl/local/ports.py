"""Free TCP ports on the loopback interface."""

import atexit
import secrets
import socket
from collections import deque
from typing import Final

LOOPBACK: Final = "127.0.0.1"

_RANGE: Final = range(20_000, 32_000)
"""Below the ports that Linux hands out to outgoing connections (32768 and up): one of those could be taken between
the moment a port is chosen here and the moment its server listens."""

_CLAIMS: Final = deque[socket.socket](maxlen=256)
"""The names below which this process has claimed ports lately. By the time the oldest is given up, its server listens."""


class NoFreePortError(RuntimeError):
    pass


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port nobody listens on and that this function has given to nobody else, here or in a process beside this one."""
    for _ in range(200):
        port = secrets.choice(_RANGE)
        if _claim(port):
            if is_free(port):
                return port
            _CLAIMS.pop().close()
    raise NoFreePortError(f"no free port found between {_RANGE.start} and {_RANGE.stop - 1}")


def _claim(port: int) -> bool:
    """Takes a name that only one process of the machine can have, and that goes with the process.

    Between the moment a port is chosen and the moment its server listens it looks free to everybody else.
    """
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0brand-engine-port-{port}")
    except OSError:
        name.close()
        return False
    if len(_CLAIMS) == _CLAIMS.maxlen:
        _CLAIMS.popleft().close()
    _CLAIMS.append(name)
    return True


@atexit.register
def _give_up_all() -> None:
    """In order, or the interpreter would warn of each."""
    while _CLAIMS:
        _CLAIMS.pop().close()


def accepts(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((LOOPBACK, port)) == 0
