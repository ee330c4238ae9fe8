"""No answer of a service steers the terminal through a command.

The answers are made of the services' own documents, with something forged wherever a text may be anything: so each command that
shows something meets it, those of tomorrow included.
"""

import json
import re
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final
from unittest.mock import MagicMock
from uuid import UUID

import pytest

import events.http_api
import gateway.http_api
import monitor.http_api
import publisher.api
import research.http_api
import social.api
from brandctl.app import assemble, main
from brandctl.completion import places
from chassis.http.api import add_routes, api
from console.people.api import people_routes
from orchestrator.api import http_api
from receipts import serve_receipts

FORGED: Final = "forged\x1b[2J\x1b]0;title\x07\x9b2J\u202e\r\u2066\x00"
SEEN: Final = "forged"
OF_TABLES: Final = r"\x1b\[[0-9;]*m"
"""Bold, dim and coloured cells."""
ID: Final = str(UUID(int=7))
PLAIN: Final = {
    "uuid": ID,
    "date-time": "2026-03-01T12:00:00Z",
    "integer": 1,
    "number": 1,
    "boolean": True,
}
"""Of formats and types that are not any text."""
BEHIND: Final[dict[str, tuple[str, ...]]] = {
    "accounts": (FORGED,),
    "accounts app": ("x", "--client-id", "ours", "--no-secret"),
    "accounts erased": (),
    "accounts list": (),
    "alerts": (FORGED,),
    "alerts list": (),
    "alerts silence": (FORGED, "--reason", "known"),
    "audits": ("acme",),
    "backbone": (),
    "brands": ("acme",),
    "brands erase": ("acme", "--yes", "--wait", "0"),
    "brands list": (),
    "brands set": ("acme", "--tone", "Plain."),
    "calendar move": (ID, "--first"),
    "calendar reorder": ("acme", "mastodon"),
    "calendar repeat": (ID, "--cool-down", "60"),
    "calendar show": ("acme",),
    "calendar slots": ("acme",),
    "calendar week": ("acme", "--of", "2026-03-01"),
    "content": (ID,),
    "content list": (),
    "content publish": (ID, "company-blog"),
    "cycles": (ID,),
    "cycles list": (),
    "dead-letters": (ID,),
    "dead-letters discard": (ID, "--reason", "known"),
    "dead-letters list": (),
    "dead-letters restore": (ID, "--reason", "known"),
    "dead-letters operations": (),
    "dead-letters stop": (ID,),
    "documents list": (),
    "documents release": ("1",),
    "documents remove": ("1", "--brand", "acme"),
    "doctor": (),
    "drafts": (ID,),
    "drafts delete": (ID, "--reason", "no", "--yes"),
    "drafts keep": (ID, "1"),
    "drafts list": (),
    "drafts looked": ("acme",),
    "drafts preview": (ID,),
    "drafts reject": (ID, "--reason", "no"),
    "proposals accept": (ID, ID),
    "proposals dismiss": (ID, ID),
    "proposals list": (),
    "proposals show": (ID,),
    "drafts return": (ID, "--comment", "no"),
    "drafts take-down": (ID, "--reason", "no"),
    "keys": (FORGED,),
    "broker-users refused": (FORGED,),
    "ledger": (),
    "close-missing": (ID, "--reason", "known"),
    "keys create": ("newsroom", "--scope", "read"),
    "keys list": (),
    "measures": ("acme",),
    "notifications": ("ops",),
    "notifications acknowledge": (ID,),
    "notifications list": (),
    "keywords show": ("tea", "--brand", "acme"),
    "chain": (ID,),
    "events follow": ("--stop-after", "1"),
    "events list": (),
    "messages list": (),
    "messages running": (),
    "notifications log": (),
    "notifications routes": (),
    "notifications set": ("ops", "--account", "ops-chat"),
    "people": (ID,),
    "people invite": ("Ada", "--owner"),
    "people list": (),
    "newsletter again": ("acme", ID),
    "newsletter letters": ("acme",),
    "newsletter off": ("acme",),
    "newsletter on": ("acme",),
    "newsletter remove": ("acme", ID),
    "newsletter show": ("acme",),
    "newsletter subscribers": ("acme",),
    "people remove": (ID, "--yes"),
    "posts": (ID,),
    "posts edit": (ID, "--text", "Shorter."),
    "posts list": (),
    "posts reach": ("acme",),
    "posts reject": (ID, "--reason", "no"),
    "posts remove-rules": ("acme", "x"),
    "posts rules": ("acme",),
    "posts set-rules": ("acme", "x"),
    "providers check": ("brave", "--brand", "acme"),
    "providers disconnect": ("brave",),
    "providers exam": (FORGED,),
    "queues pause": (FORGED, "--reason", "no"),
    "queues resume": (FORGED,),
    "receipts": (ID,),
    "receipts confirm": (ID, "--url", "https://example.com/1"),
    "receipts list": (),
    "receipts repeat": (ID, "--yes"),
    "retries cancel": (ID, "--service", "publisher", "--reason", "no"),
    "retries list": (),
    "subscriptions": ("crm",),
    "subscriptions delete": ("crm", "--yes"),
    "subscriptions list": (),
    "retries run-now": (ID, "--service", "publisher"),
    "schedules": ("acme", "weekly"),
    "schedules list": ("acme",),
    "schedules set": ("acme", "weekly", "tea", "--cron", "0 6 * * SUN"),
    "site": ("acme",),
    "site set": ("acme", "--accent", "#102030"),
    "throughput": (),
    "sources set": ("acme", "--folder"),
    "sources show": ("acme",),
    "sources topics": ("acme",),
    "spend cap": ("acme", "--day", "5"),
    "subjects": ("acme", "x"),
    "subjects join": ("acme", "x", "y"),
    "subjects list": ("acme",),
    "targets": ("acme", "company-blog"),
    "targets articles": ("acme",),
    "targets list": ("acme",),
    "targets set": ("acme", "company-blog", "--category", "Coffee"),
    "hooks": ("acme", "cms"),
    "hooks list": ("acme",),
    "hooks remove": ("acme", "cms", "--yes"),
    "webhooks": ("acme", "crm"),
    "webhooks add": ("acme", "crm", "--account", "crm"),
    "webhooks list": ("acme",),
    "webhooks remove": ("acme", "crm", "--yes"),
    "webhooks resend": ("acme", "crm", "--dead"),
    "workflows": (ID,),
    "workflows list": (),
}
"""What a command is given, or else those of its noun, if they must be given something."""
ELSEWHERE: Final = {
    "accounts connect",  # reads what is secret, or waits for a browser: see the tests of accounts
    "broker-users add",  # these four ask the broker: see their tests
    "broker-users list",
    "broker-users remove",
    "broker-users renew",
    "brands export",  # writes a file: see its tests
    "brands import",  # reads a file: see tests/end_to_end/test_brand_moves.py
    "brands move",  # asks two installations: see tests/end_to_end/test_brand_is_moved.py
    "calendar export",  # shows no table, and has no JSON: see its tests
    "completion",  # shows no data
    "demo",
    "run",  # these four start, stop and copy the local run, and ask no service
    "stop",
    "backup",
    "restore",
    "mcp",  # talks to an assistant: see tests/end_to_end/test_assistants.py
    "documents add",  # shows the name of a file of one's own
    "dead-letters edit",  # needs a queue that exists: see its tests
    "drafts edit",  # opens an editor: see the tests of drafts
    "providers connect",
    "site newsletter",  # writes a file, and nothing to a terminal
    "site export",  # shows the name of a file of one's own
    "submit",  # these two: see the tests of cycles
    "watch",
    "topology declare",  # these two show the catalogue
    "topology show",
    "trace",  # asks Jaeger: see the tests of traces
}
SAY_LITTLE: Final = {
    "hooks add", "hooks remove", "hooks rotate", "webhooks add", "webhooks off", "webhooks on", "webhooks remove", "webhooks resend",
    "subscriptions delete", "subscriptions revive", "subscriptions create", "accounts app", "accounts disconnect", "newsletter again", "newsletter remove",
    "close-missing", "dead-letters discard", "dead-letters replay", "dead-letters restore", "documents release", "documents remove", "drafts looked", "keys revoke",
    "notifications remove", "posts remove-rules", "targets reset", "queues pause", "queues resume", "retries cancel", "retries run-now",
    "keys rotate", "providers disconnect", "providers rotate", "schedules remove", "schedules run", "spend resume", "spend stop",
}  # fmt: skip
"""Of what is answered they show nothing, or nothing but ids."""
MAY_GO_ON: Final = {
    "alerts list",
    "accounts check",
    "brands erase",
    "ledger",
    "subscriptions show",
    "webhooks show",
    "notifications test",
    "retries cancel",
    "retries run-now",
}
"""What ends with 1 if something is not done yet, or missing, whichever state the answer has."""
COMMANDS: Final = [
    " ".join(each.path[1:]) for each in places(assemble()) if not each.words or each.said == "brandctl spend"
]


def answer_of(schema: dict[str, Any], document: dict[str, Any]) -> Any:  # noqa: PLR0911  (one for each kind)
    """Data that the schema allows, forged where possible."""
    match schema:
        case {"$ref": reference}:
            return answer_of(document["components"]["schemas"][reference.rpartition("/")[2]], document)
        case {"anyOf": [*several]}:
            return answer_of(next(each for each in several if each.get("type") != "null"), document)
        case {"type": "object", "properties": properties}:
            whole = {key: answer_of(inner, document) for key, inner in properties.items()}
            # No list goes on for ever.
            return whole | ({"next": None} if "items" in whole else {})
        case {"type": "object", "additionalProperties": dict(inner)}:
            return {FORGED: answer_of(inner, document)}
        case {"type": "object"}:
            return {"url": FORGED, FORGED: FORGED}
        case {"type": "array", "items": inner}:
            return [answer_of(inner, document)] * 2
        case {"const": value} | {"enum": [value, *_]}:
            return value
    return PLAIN.get(schema.get("format", schema.get("type")), FORGED)


class Forger(ThreadingHTTPServer):
    """Replaces every service."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        anything = MagicMock()
        apps = (
            http_api(anything, anything),
            monitor.http_api.create_api(anything, anything, anything),
            events.http_api.create_api(anything, anything, anything),
            research.http_api.create_api(anything, anything, look_again=lambda: None),
            gateway.http_api.create_api(anything, anything),
            social.api.create_api(anything, anything, anything, anything, feeds=anything),
            publisher.api.create_api(anything, anything, anything, sites=anything),
        )
        receipts = api("Receipts", anything)
        serve_receipts(receipts, anything)
        people = api("People", anything)
        add_routes(people, people_routes(anything, anything))
        self.documents = [each.openapi() for each in (*apps, receipts, people)]

    def told(self, method: str, path: str) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        for document in self.documents:
            # The most exact path first, as the applications have them.
            for known, operations in sorted(document["paths"].items(), key=lambda each: each[0].count("{")):
                pattern = known.strip("/").split("/")
                if (
                    len(pattern) == len(parts)
                    and method in operations
                    and all(
                        one.startswith("{") or one == other for one, other in zip(pattern, parts, strict=True)
                    )
                ):
                    for status, answer in operations[method]["responses"].items():
                        if status.startswith("2"):
                            content = answer.get("content", {}).get("application/json")
                            return int(status), content and answer_of(content["schema"], document)
        raise AssertionError(f"no service has {method} {path}")


class _Answer(BaseHTTPRequestHandler):
    server: Forger

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        status, told = self.server.told(self.command.lower(), self.path.partition("?")[0])
        body = b"" if told is None else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  (the names that http.server calls)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def forger() -> Iterator[Forger]:
    with Forger() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.extended
@pytest.mark.parametrize("how", [(), ("--json",), ("on a terminal",)], ids=["piped", "json", "terminal"])
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - ELSEWHERE))
def test_nothing_forged_reaches_the_terminal(
    forger: Forger,
    command: str,
    how: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for service in (
        "ORCHESTRATOR",
        "MONITOR",
        "RESEARCH",
        "GATEWAY",
        "SOCIAL",
        "PUBLISHER",
        "EVENTS",
        "CONSOLE",
    ):
        monkeypatch.setenv(f"{service}_URL", f"http://127.0.0.1:{forger.server_port}")
    monkeypatch.setenv("SERVICE_KEY", "test-service-key-0123456789")
    monkeypatch.setenv("NO_COLOR", "1")
    if how == ("on a terminal",):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "2000")
        how = ()
    given = BEHIND.get(command, BEHIND.get(command.partition(" ")[0], ()))
    arguments = [*command.split(), *given, *how]
    monkeypatch.setattr(sys, "argv", ["brandctl", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()

    told = capsys.readouterr()
    assert ended.value.code in ({0, 1} if command in MAY_GO_ON else {0}), (
        f"is there something to say in BEHIND? {told}"
    )
    for text in (re.sub(OF_TABLES, "", each) for each in told):
        assert all(character.isprintable() or character in "\n\t" for character in text), text
    assert SEEN in told.out + told.err or command in SAY_LITTLE
