"""A mail server that stores the mails it receives."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage


class Mailbox(socketserver.ThreadingTCPServer):
    """Speaks the part of SMTP (RFC 5321) that a client needs to deliver one mail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.mails: list[EmailMessage] = []
        self.answer: Callable[[], str] = lambda: "250 kept"
        """What a mail is answered with; asked when the mail has arrived and its sender does not know it yet."""

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"{host!s}:{port}"

    @contextmanager
    def open(self) -> Iterator["Mailbox"]:
        with self:
            threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
            try:
                yield self
            finally:
                self.shutdown()


class _Session(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        self._say("220 at your service")
        for line in self.rfile:
            match line[:4].upper():
                case b"DATA":
                    self._say("354 end with a dot on a line of its own")
                    body = b"".join(iter(self.rfile.readline, b".\r\n"))
                    answer = self.server.answer()
                    if answer.startswith("250"):
                        self.server.mails.append(message_from_bytes(body, policy=policy.default))
                    self._say(answer)
                case b"QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 very well")

    def _say(self, answer: str) -> None:
        self.wfile.write(f"{answer}\r\n".encode())
