"""A site that shows one picture, on a thread of its own: fakes fetch it while the loop of the tests waits for them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from services.social.tests.sending.conftest import PNG


class PictureSite:
    """Away until `open` is entered; then it answers every path with `status` and a picture of `media_type`."""

    def __init__(self, port: int, media_type: str = "image/jpeg", status: int = 200) -> None:
        self.port = port
        self.media_type = media_type
        self.status = status
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def open(self) -> Iterator[None]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                self.send_response(site.status)
                self.send_header("Content-Type", site.media_type)
                self.send_header("Content-Length", str(len(PNG)))
                self.end_headers()
                self.wfile.write(PNG)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            serving.join()
            server.server_close()
