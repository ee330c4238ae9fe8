"""nginx with one page as a file, beside which the publisher's pages are measured."""

import gzip
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.errors import MeasurementError
from brandctl.local import ports, processes

_START_SECONDS: Final = 15.0
_CONFIG: Final = """{user}daemon off;
worker_processes 1;
pid nginx.pid;
error_log nginx.log;
events {{}}
http {{
    access_log off;
    gzip_static on;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    default_type text/html;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
    }}
}}
"""
"""One worker, as the publisher is one process; the page is compressed beforehand, as its cached pages are."""


@dataclass(frozen=True, slots=True)
class StaticServer:
    """A running server with the page."""

    url: str
    pid: int


def program() -> str | None:
    """The path of nginx; None if it is not installed."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def nginx(folder: Path, page: bytes) -> Iterator[StaticServer]:
    """Serves the page as a file until the end of the block.

    Raises:
        MeasurementError: nginx is not installed, or does not start.
    """
    found = program()
    if found is None:
        raise MeasurementError("nginx is not installed")
    home = folder / "nginx"
    root = home / "root"
    root.mkdir(parents=True)
    (root / "page.html").write_bytes(page)
    (root / "page.html.gz").write_bytes(gzip.compress(page, 6))
    port = ports.free_port()
    config = home / "nginx.conf"
    config.write_text(_CONFIG.format(user="user root;\n" if os.geteuid() == 0 else "", port=port, root=root))
    log = home / "start.log"
    child = processes.start(
        "nginx", [found, "-p", str(home), "-c", str(config)], log=log, env={"PATH": os.defpath}
    )
    try:
        child.wait_until(lambda: ports.accepts(port), within=_START_SECONDS)
    except processes.StartError as error:
        child.stop(signal.SIGKILL)
        raise MeasurementError(str(error)) from error
    try:
        yield StaticServer(f"http://127.0.0.1:{port}/page.html", child.process.pid)
    finally:
        child.stop(signal.SIGTERM)
