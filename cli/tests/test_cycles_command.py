"""`brandctl submit`, `watch` and `cycles` as processes of their own, beside an orchestrator's API."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from tests.fixtures.commands.brandctl import CommandResult, brandctl

KEY = "test-service-key-0123456789"
CYCLE = UUID(int=1)


def cycle(state: str, *, completed: int = 0, failed: int = 0) -> dict[str, Any]:
    return {
        "cycle_id": str(CYCLE),
        "correlation_id": "chain",
        "brand_slug": "acme",
        "state": state,
        "pending": 3 - completed - failed,
        "processing": 0,
        "completed": completed,
        "failed": failed,
        "total": 3,
        "percent": (completed + failed) * 33,
        "not_sent": 1,
        "created_at": "2026-07-01T12:00:00Z",
        "keywords": [],
        "next": None,
    }


KEYWORDS: list[dict[str, Any]] = [
    dict.fromkeys(("published_url", "reason", "waits")) | {"has_standing_article": False} | each
    for each in (
        {
            "keyword": "cold \x1b[31mbrew",
            "state": "completed",
            "published_url": "https://site.test/cold-brew",
        },
        {"keyword": "moka pot", "state": "refused", "reason": "too little\x1b]0;owned\x07 on it"},
        {"keyword": "espresso", "state": "queued", "waits": "waits for its turn"},
    )
]


class Orchestrator(ThreadingHTTPServer):
    """Gives the test's answers one after the other, the last one for ever; remembers the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.progress = [cycle("running")]
        self.asked: list[tuple[str, str, str, bytes]] = []


class _Answer(BaseHTTPRequestHandler):
    server: Orchestrator

    def do_GET(self) -> None:  # the name that http.server calls
        path = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(path.query).items()}
        match path.path.removeprefix("/v1/cycles").strip("/").split("/"):
            case [""]:
                following = None if "after" in asked else str(CYCLE)
                self._say(200, {"items": self.server.progress, "next": following})
            case [_, "keywords"]:
                found = [each for each in KEYWORDS if asked.get("state") in {None, each["state"]}]
                after, limit = int(asked.get("after", 0)), int(asked["limit"])
                page, rest = found[after : after + limit], found[after + limit :]
                self._say(200, {"items": page, "next": after + limit if rest else None})
            case [cycle_id] if cycle_id == str(CYCLE):
                told = self.server.progress
                self._say(200, told.pop(0) if len(told) > 1 else told[0])
            case _:
                self._say(404, {"detail": "there is no cycle; cycles are kept for a limited time"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.asked.append(
            (
                self.path,
                self.headers.get("Content-Type", ""),
                self.headers.get("Idempotency-Key", ""),
                body,
            )
        )
        if self.path.startswith("/v1/brands/acme/research"):
            self._say(202, {"cycle_id": str(CYCLE), "correlation_id": "chain", "total": 2})
        elif self.path.startswith("/v1/cycles/"):
            self._say(200, cycle("paused"))
        else:
            self._say(404, {"detail": "there is no brand '\x1b[2Jnone'; create it first"})

    def _say(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


Run = Callable[..., CommandResult]


@pytest.fixture
def orchestrator() -> Iterator[Orchestrator]:
    with Orchestrator() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run(orchestrator: Orchestrator, tmp_path: Path) -> Run:
    def run(*arguments: str, given: str = "") -> CommandResult:
        url = f"http://127.0.0.1:{orchestrator.server_port}"
        variables = {"ORCHESTRATOR_URL": url, "SERVICE_KEY": KEY}
        return brandctl(*arguments, folder=tmp_path, variables=variables, typed=given)

    return run


def test_keywords_are_handed_in_as_they_are_given(
    run: Run, orchestrator: Orchestrator, tmp_path: Path
) -> None:
    (tmp_path / "list.CSV").write_text("keyword;priority\ntea;high\n")
    research = "/v1/brands/acme/research"

    spoken = run("submit", "acme", "cold brew", "moka pot", "--key", "campaign 1")
    table = run("submit", "acme", "--file", "list.CSV", "--json")
    lines = run("submit", "acme", "--file", "-", "--priority", "low", given="tea\ncoffee\n")

    assert (spoken.code, spoken.out) == (0, f"{CYCLE}\n")
    assert "2 keywords of acme accepted" in spoken.err
    assert (table.code, json.loads(table.out)["cycle_id"]) == (0, str(CYCLE))
    assert lines.code == 0
    assert orchestrator.asked == [
        (research, "application/json", "campaign 1", b'{"keywords": ["cold brew", "moka pot"]}'),
        (research, "text/csv; charset=utf-8", "", b"keyword;priority\ntea;high\n"),
        (f"{research}?priority=low", "text/plain; charset=utf-8", "", b"tea\ncoffee\n"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("acme",), 2, "give either keywords, or a list of them with --file"),
        (("acme", "tea", "--file", "list"), 2, "not both"),
        (("acme", "--file", "nowhere.txt"), 2, "nowhere.txt cannot be read"),
        (("none", "tea"), 1, "create it first"),
    ],
)
def test_what_cannot_be_handed_in_ends_with_a_sentence(
    run: Run, arguments: tuple[str, ...], code: int, hint: str
) -> None:
    ended = run("submit", *arguments)

    assert (ended.code, ended.out) == (code, "")
    assert hint in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.extended
@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("failed", 1), ("cancelled", 1)])
def test_watching_says_each_change_once_and_how_it_ended(
    run: Run, orchestrator: Orchestrator, state: str, code: int
) -> None:
    ended = cycle(state, completed=1, failed=2)
    orchestrator.progress = [cycle("running"), cycle("running"), ended]

    watched = run("watch", str(CYCLE))

    assert watched.code == code, watched.err
    assert watched.out.splitlines() == [
        "acme running: 0 %, 3 pending, 0 processing, 0 completed, 0 failed of 3",
        f"acme {state}: 99 %, 0 pending, 0 processing, 1 completed, 2 failed of 3",
    ]
    assert f"why: brandctl cycles show {CYCLE}" in watched.err
    orchestrator.progress = [cycle("running"), ended]
    as_json = run("watch", str(CYCLE), "--json")
    assert (as_json.code, json.loads(as_json.out)["state"]) == (code, state)
    assert "acme running: 0 %" in as_json.err
    submitted = run("submit", "acme", "tea", "--wait", "--json")
    assert (submitted.code, json.loads(submitted.out)["total"]) == (code, 2)


def waiting(state: str, **said: Any) -> dict[str, Any]:
    return cycle(state, completed=1) | {"pending": 0, "waiting": 2, "not_sent": 0, "drafts_waiting": 2} | said


HELD_UP = {"reason": "waits for a person: 5 drafts of its brand wait for review", "drafts": 5}
DRAFTS = "brandctl drafts list --brand acme --state waiting"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("ended", "line", "notes"),
    [
        (
            waiting("waiting"),
            "acme waiting: 33 %, 0 pending, 0 processing, 2 waiting, 1 completed, 0 failed of 3; 2 drafts wait for you",
            [f"2 drafts wait for you: {DRAFTS}"],
        ),
        (
            waiting("waiting", drafts_waiting=1, posts_waiting=1),
            (
                "acme waiting: 33 %, 0 pending, 0 processing, 2 waiting, 1 completed, 0 failed of 3;"
                " 1 draft waits for you; posts of 1 article wait for you"
            ),
            [
                f"1 draft waits for you: {DRAFTS}",
                "1 article has its time, or is being written again: brandctl drafts list --brand acme",
                "1 article has posts that wait for you: brandctl posts list --brand acme",
            ],
        ),
        (
            waiting("running", pending=1, waiting=1, drafts_waiting=1, not_sent=1, held_up=HELD_UP),
            (
                "acme running: 33 %, 1 pending, 0 processing, 1 waiting, 1 completed, 0 failed of 3; 1 draft waits for you;"
                " held up: 5 drafts wait for review"
            ),
            [
                f"held up: 5 drafts wait for review: {DRAFTS}",
                f"it goes on when you have decided: brandctl watch {CYCLE}",
            ],
        ),
    ],
)
def test_what_waits_for_a_person_is_no_failure_and_is_said_with_the_command_that_shows_it(
    run: Run, orchestrator: Orchestrator, ended: dict[str, Any], line: str, notes: list[str]
) -> None:
    orchestrator.progress = [cycle("running"), ended]
    watched = run("watch", str(CYCLE))
    assert (watched.code, watched.out.splitlines()[-1]) == (0, line)
    assert watched.err.splitlines()[1:] == notes
    orchestrator.progress = [cycle("running"), ended]
    submitted = run("submit", "acme", "tea", "--wait")
    assert (submitted.code, submitted.err.splitlines()[-len(notes) :]) == (0, notes)
    listed = run("cycles", "list")
    assert set(notes) - set(listed.err.splitlines()) <= {
        f"it goes on when you have decided: brandctl watch {CYCLE}"
    }


def test_what_is_held_up_but_has_work_in_hand_is_watched_on(run: Run, orchestrator: Orchestrator) -> None:
    in_hand = waiting("running", pending=1, waiting=0, drafts_waiting=0, held_up=HELD_UP) | {"processing": 1}
    orchestrator.progress = [in_hand, cycle("completed", completed=3)]
    watched = run("watch", str(CYCLE))
    assert (watched.code, len(watched.out.splitlines())) == (0, 2)
    assert watched.out.splitlines()[0].endswith("; held up: 5 drafts wait for review")


@pytest.mark.extended
def test_cycles_and_their_keywords_are_shown_whatever_they_hold(run: Run) -> None:
    listed = run("cycles", "list", "--brand", "acme")
    last = run("cycles", "list", "--after", str(CYCLE))
    shown = run("cycles", "show", str(CYCLE))
    refused = run("cycles", "show", str(CYCLE), "--state", "refused", "--json")
    first = run("cycles", "show", str(CYCLE), "--limit", "2")

    assert listed.out.splitlines()[1].split("\t")[:4] == [str(CYCLE), "acme", "running", "0"]
    assert (listed.err, last.err) == (f"there are more: --after {CYCLE}\n", "")
    assert [line.split("\t")[1:] for line in shown.out.splitlines()[1:]] == [
        ["completed", "https://site.test/cold-brew"],
        ["refused", "too little\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER} on it"],
        ["queued", "waits for its turn"],
    ]
    assert "\x1b" not in listed.out + shown.out + shown.err + refused.out
    assert [each["keyword"] for each in json.loads(refused.out)["keywords"]] == ["moka pot"]
    assert (len(first.out.splitlines()), "There are more keywords" in first.err) == (3, True)


@pytest.mark.extended
def test_a_cycle_is_held_back_and_cancelled(run: Run, orchestrator: Orchestrator) -> None:
    for action in ("pause", "resume", "cancel"):
        done = run("cycles", action, str(CYCLE))
        assert (done.code, done.out) == (0, "")
        assert "acme, paused: 0 %" in done.err
    assert [path for path, *_ in orchestrator.asked] == [
        f"/v1/cycles/{CYCLE}/{action}" for action in ("pause", "resume", "cancel")
    ]
    unknown = run("cycles", "show", str(UUID(int=9)))
    assert (unknown.code, "there is no cycle" in unknown.err) == (1, True)
