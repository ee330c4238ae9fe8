"""The health check of a container: asks the service inside for `/health/live`, or for `/health/ready` with `ready`.

Exit status 0 if it answers 200; otherwise 1, with what it answered. It runs again and again, and starting Python is most of its
work: so it uses nothing but a socket, and containers start it with `-S`, without looking for packages. Each of
`http.client`, `pathlib` and `site` would add half as much again. It goes past a proxy from the environment, which cannot reach
the container's own address.
"""

import os
import socket
import sys

LONGEST = 65_536
"""Bytes of an answer; what is unwell stands at its beginning."""
SECONDS = 4.0


def port() -> int:
    """HTTP_PORT, or the service's own default, which the image has in a file beside this one."""
    if given := os.environ.get("HTTP_PORT"):
        return int(given)
    with open(os.path.join(os.path.dirname(__file__), "port")) as file:  # noqa: PTH118, PTH120, PTH123 - see above
        return int(file.read())


def answer(port: int, path: str) -> str:
    """Returns the service's answer, with its status line and headers."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        # By HTTP/1.0, so that the answer ends with the connection.
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
        while len(received) < LONGEST and (more := connection.recv(LONGEST)):
            received += more
    return received.decode(errors="replace")


def main() -> None:
    path = f"/health/{sys.argv[1] if len(sys.argv) > 1 else 'live'}"
    asked = port()
    try:
        head, _, body = answer(asked, path).partition("\r\n\r\n")
    except OSError as error:
        sys.exit(f"{path} on port {asked} does not answer: {str(error) or type(error).__name__}")
    status = head.partition("\r\n")[0].split(" ")
    if not (status[0].startswith("HTTP/") and len(status) > 1):
        sys.exit(f"{path} on port {asked} does not answer by HTTP")
    if status[1] != "200":
        sys.exit(f"{path} answers {status[1]}: {body}")


main()
