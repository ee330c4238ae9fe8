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
"""Sockets with the names of the latest claimed ports. By the time the oldest is closed, its server listens."""


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
    """Returns a port without a listener that this function has not returned before, in this or another process."""
    for _ in range(200):
        port = secrets.choice(_RANGE)
        if claim(port):
            if is_free(port):
                return port
            _CLAIMS.pop().close()
    raise NoFreePortError(f"no free port found between {_RANGE.start} and {_RANGE.stop - 1}")


def claim(port: int) -> bool:
    """Keeps `free_port` from returning the port, in this or another process, until its server listens.

    It binds a name that only one process of the machine can have, and that ends with the process: a chosen port looks
    free to the others for as long as nobody listens.

    Returns: whether no other process had claimed it.
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
    """Closes the sockets; otherwise the interpreter warns of each."""
    while _CLAIMS:
        _CLAIMS.pop().close()


def accepts(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((LOOPBACK, port)) == 0
