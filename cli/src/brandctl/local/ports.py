"""Free TCP ports on the loopback interface."""

import secrets
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"

_RANGE: Final = range(20_000, 32_000)
"""Below the ports that Linux hands out to outgoing connections (32768 and up): one of those could be taken between
the moment a port is chosen here and the moment its server listens."""


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
    """A port nobody listens on, chosen at random so that runs side by side hardly ever choose the same."""
    for _ in range(200):
        port = secrets.choice(_RANGE)
        if is_free(port):
            return port
    raise NoFreePortError(f"no free port found between {_RANGE.start} and {_RANGE.stop - 1}")


def accepts(port: int) -> bool:
    """Whether something listens on the port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((LOOPBACK, port)) == 0
