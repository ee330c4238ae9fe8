"""`brandctl notifications`: its requests to the monitor, and its exit codes."""

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from brandctl.app import main

ROUTE: dict[str, Any] = {
    "name": "ops", "account": "chat", "to": [], "brand": None, "kinds": [], "quiet_hours": None, "group_seconds": 60, "summary": None,
    "state": "failing", "problem": "the token has expired: connect again", "failing_since": "2026-03-02T10:00:00Z", "last_sent_at": None,
}  # fmt: skip
MESSAGE: dict[str, Any] = {"id": "1", "state": "failed", "problem": "telegram answered 400: chat not found"}


class Monitor(ThreadingHTTPServer):
    """Keeps its requests, and gives the test's answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[tuple[str, str, Any]] = []
        self.answer: Any = {}


class _Answer(BaseHTTPRequestHandler):
    server: Monitor

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.asked.append((self.command, self.path, json.loads(body) if body else None))
        answer = json.dumps(self.server.answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  (the names that http.server calls)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    with Monitor() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def brandctl(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Runs it; returns its exit code."""
    monkeypatch.setenv("MONITOR_URL", f"http://127.0.0.1:{monitor.server_port}")
    monkeypatch.setenv("SERVICE_KEY", "test-service-key-0123456789")

    def run(*arguments: str) -> object:
        monkeypatch.setattr(sys, "argv", ["brandctl", "notifications", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    return run


def test_a_route_is_set_as_it_is_said(
    monitor: Monitor, brandctl: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    monitor.answer = ROUTE
    berlin = ("--time-zone", "Europe/Berlin")
    given = ("--account", "chat", "--to", "@ops", "--kind", "in_doubt", "--kind", "accounts", "--group", "5")
    assert brandctl("set", "ops", *given, "--quiet", "22:00-07:00", "--summary", "Monday 08:00", *berlin) == 0
    ((method, path, body),) = monitor.asked
    assert (method, path) == ("PUT", "/v1/notifications/routes/ops")
    assert body == {
        "account": "chat",
        "to": ["@ops"],
        "brand": None,
        "kinds": ["in_doubt", "accounts"],
        "quiet_hours": {"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"},
        "summary": {"weekday": "monday", "at": "08:00", "time_zone": "Europe/Berlin"},
        "group_seconds": 5,
    }
    assert "the token has expired: connect again" in capsys.readouterr().out


def test_what_cannot_be_meant_is_wrong_usage(monitor: Monitor, brandctl: Callable[..., object]) -> None:
    assert brandctl("set", "ops", "--account", "chat", "--quiet", "at night") == 2
    assert brandctl("set", "ops", "--account", "chat", "--summary", "monday") == 2
    assert monitor.asked == []


def test_a_test_message_that_did_not_arrive_is_a_failure(
    monitor: Monitor, brandctl: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    monitor.answer = MESSAGE
    assert brandctl("test", "ops") == 1
    assert "telegram answered 400: chat not found" in capsys.readouterr().err
    monitor.answer = MESSAGE | {"state": "sent", "problem": None}
    assert brandctl("test", "ops") == 0
    assert [each[:2] for each in monitor.asked] == [("POST", "/v1/notifications/routes/ops/test")] * 2


def test_lists_ask_for_what_stands_and_say_when_there_is_nothing(
    monitor: Monitor, brandctl: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    monitor.answer = {"items": [], "next": None}
    assert brandctl("list", "--brand", "acme", "--kind", "waiting") == 0
    assert brandctl("list", "--all") == 0
    assert brandctl("log", "--state", "failed") == 0
    assert [each[1] for each in monitor.asked] == [
        "/v1/notifications?open=true&kind=waiting&brand=acme&limit=50",
        "/v1/notifications?limit=50",
        "/v1/notifications/messages?state=failed&limit=50",
    ]
    assert "no open notifications" in capsys.readouterr().err
