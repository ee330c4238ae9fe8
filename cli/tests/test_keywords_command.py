"""`brandctl keywords` as a process of its own, beside the APIs of the orchestrator and the monitor."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from tests.fixtures.commands.brandctl import CommandResult, brandctl

CYCLE, CONTENT, LETTER, OTHER_LETTER = (str(UUID(int=number)) for number in range(1, 5))
COLD_BREW: dict[str, Any] = {
    "keyword": "cold brew",
    "brand_slug": "acme",
    "cycle_id": CYCLE,
    "correlation_id": "chain",
    "submitted_by": "newsroom",
    "priority": "high",
    "accepted_at": "2026-07-01T12:00:00Z",
    "moved_at": "2026-07-01T14:00:00Z",
    "times": {
        "research_asked_at": "2026-07-01T12:01:00.5Z",
        "researched_at": "2026-07-01T12:04:00Z",
        "writing_asked_at": "2026-07-01T12:04:00.25Z",
        "published_at": "2026-07-01T12:45:00Z",
        "ended_at": "2026-07-01T13:00:00Z",
    },
    "state": "completed",
    "reason": None,
    "waits": None,
    "content_id": CONTENT,
    "has_standing_article": False,
    "published_url": "https://site.test/cold-brew",
    "placements": [
        {
            "target": "blog",
            "state": "published",
            "url": "https://blog.test/1",
            "reason": None,
            "asked_at": "2026-07-01T12:50:00Z",
            "answered_at": "2026-07-01T12:51:00Z",
        }
    ],
    "posts": [
        {
            "platform": "feed",
            "url": "https://feed.test/1",
            "state": "posted",
            "posted_at": "2026-07-01T12:59:00Z",
        },
        {"platform": "mastodon", "url": "https://m.test/1", "state": "posted", "posted_at": None},
    ],
}
WORKFLOW = {
    "steps": [
        {"name": "fetch_research", "finished_at": "2026-07-01T12:05:00Z", "tokens": None},
        {"name": "store", "finished_at": "2026-07-01T12:20:00Z", "tokens": {"read": 1000, "written": 20}},
    ],
    "retried_at": "2026-07-01T12:15:00Z",
    "retried_by": "anna",
    "retries": 1,
    "cancelled_at": None,
    "problem": None,
    "last_sign_at": "2026-07-01T12:20:00Z",
}
ARTICLE = {
    "content_id": CONTENT,
    "title": "Cold \x1b[31mbrew",
    "word_count": 800,
    "created_at": "2026-07-01T12:20:00Z",
    "sources": [{"n": 1, "title": "t", "url": "https://source.test", "path": None}],
    "taken_down_at": None,
    "held_for": [],
}
DECISION = {"decision": "approved", "by": "bo", "comment": "good", "at": "2026-07-01T12:40:00Z"}


def letter(identity: str) -> dict[str, Any]:
    return {
        "id": identity,
        "type": "content.generate",
        "queue": "orchestrator-commands",
        "reason": "exhausted",
        "detail": "the model was away",
        "failed_at": "2026-07-01T12:10:00Z",
        "state": "resolved",
        "resolution": "handled as X",
    }


ANSWERS: dict[str, Any] = {
    f"/v1/workflows/{CONTENT}": WORKFLOW,
    f"/v1/content/{CONTENT}": ARTICLE,
    f"/v1/drafts/{CONTENT}/decisions": {"items": [DECISION]},
}
OF_KEYWORD = {"correlation_id": "chain", "keyword": "cold brew", "content_id": CONTENT}
LETTERS = [letter(LETTER), letter(OTHER_LETTER)]


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name that http.server calls
        path = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(path.query).items()}
        if path.path == "/v1/keywords":
            wanted = asked.get("keyword", asked.get("q", ""))
            found = [COLD_BREW] if wanted in COLD_BREW["keyword"] else []
            following = f"{CYCLE}.1" if "limit" in asked and asked["limit"] == "1" else None
            self._say(200, {"items": found, "next": following})
        elif path.path == "/v1/dead-letters" and asked.items() >= OF_KEYWORD.items():
            # A page holds one, so that all are found page by page alone.
            at = next((place for place, each in enumerate(LETTERS, 1) if each["id"] == asked.get("after")), 0)
            following = LETTERS[at]["id"] if at + 1 < len(LETTERS) else None
            self._say(200, {"items": LETTERS[at : at + 1], "next": following})
        elif path.path in ANSWERS:
            self._say(200, ANSWERS[path.path])
        else:
            self._say(404, {"detail": "there is none"})

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
def run(tmp_path: Path) -> Iterator[Run]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"

        def run(
            *arguments: str, monitor: bool = True, variables: Mapping[str, str] = MappingProxyType({})
        ) -> CommandResult:
            variables = {
                "ORCHESTRATOR_URL": url,
                "SERVICE_KEY": "test-service-key-0123456789",
                "XDG_STATE_HOME": str(tmp_path),
                **variables,
            }
            if monitor:
                variables["MONITOR_URL"] = url
            return brandctl(*arguments, folder=tmp_path, variables=variables)

        yield run
        server.shutdown()
        thread.join()


def test_the_story_of_a_keyword_has_all_that_happened_in_the_order_of_time(run: Run) -> None:
    ended = run("keywords", "show", "cold brew", "--brand", "acme")

    assert ended.code == 0, ended.err
    rows = [line.split("\t") for line in ended.out.splitlines()][1:]
    assert [(when[11:16], what) for when, what, _ in rows] == [
        ("12:00", "handed in"),
        ("12:01", "turn came"),
        ("12:04", "researched"),
        ("12:04", "sent to writers"),
        ("12:05", "step done"),
        ("12:10", "dead letter"),
        ("12:10", "dead letter"),
        ("12:15", "retried"),
        ("12:20", "step done"),
        ("12:20", "article stored"),
        ("12:20", "sources"),
        ("12:40", "approved"),
        ("12:45", "published"),
        ("12:51", "further target"),
        ("12:59", "post"),
        ("", "post"),
        ("13:00", "ended"),
    ]
    details = [detail for *_, detail in rows]
    assert details[0] == f"by newsroom, priority high, cycle {CYCLE}"
    for each in (LETTER, OTHER_LETTER):
        assert f"resolved (handled as X), id {each}" in ended.out
    assert "by anna, 1 in all" in details
    assert "https://site.test/cold-brew" in details
    assert "\x1b" not in ended.told
    assert "correlation_id chain" in ended.err


def test_on_a_terminal_the_ids_of_a_story_are_short_and_its_lines_fit(run: Run) -> None:
    variables = {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    ended = run("keywords", "show", "cold brew", variables=variables)
    piped = run("keywords", "show", "cold brew", "--json")

    assert ended.code == 0, ended.err
    for each in (CYCLE, CONTENT, LETTER, OTHER_LETTER):
        assert each not in ended.out
        assert f"…{each[-6:]}" in ended.out
        assert each in piped.out
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 80 for line in ended.out.splitlines())
    # What was shown short is understood.
    assert run("content", "score", f"…{CONTENT[-6:]}").code == 1


def test_the_story_of_what_an_earlier_version_began_says_what_is_known(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLD_BREW, "submitted_by", None)
    monkeypatch.setitem(COLD_BREW, "times", dict.fromkeys(COLD_BREW["times"]))
    ended = run("keywords", "show", "cold brew")
    rows = [line.split("\t") for line in ended.out.splitlines()][1:]
    assert rows[0][2] == f"priority high, cycle {CYCLE}"
    assert [row for row in rows if row[1] == "published"] == [
        ["", "published", "https://site.test/cold-brew"]
    ]
    assert rows[-1][:2] == ["2026-07-01 14:00:00", "ended"]


def test_an_article_that_stood_before_was_written_in_the_story_of_another_keyword(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLD_BREW, "has_standing_article", True)
    ended = run("keywords", "show", "cold brew")
    told = [line.split("\t")[1] for line in ended.out.splitlines()]
    assert "article stored" in told
    assert not {"step done", "retried"} & {*told}


def test_the_story_is_told_without_the_monitor_too_and_says_what_it_lacks(run: Run) -> None:
    ended = run("keywords", "show", "cold brew", "--json", monitor=False)

    assert ended.code == 0
    (told,) = ended.json()
    assert told["dead_letters_read"] is False
    assert "dead letter" not in {each["what"] for each in told["story"]}
    assert "Dead letters are left out" in ended.err


def test_a_keyword_that_no_cycle_has_ends_with_1_and_says_how_to_find_others(run: Run) -> None:
    ended = run("keywords", "show", "tea", "--brand", "acme")
    assert ended.code == 1
    assert "brandctl keywords list --search" in ended.err


def test_keywords_are_listed_over_all_cycles(run: Run) -> None:
    ended = run("keywords", "list", "--brand", "acme", "--search", "brew", "--limit", "1")

    assert ended.code == 0
    assert ended.out.splitlines()[1].split("\t") == [
        "cold brew",
        "acme",
        "completed",
        "2026-07-01 14:00",
        CYCLE,
        "https://site.test/cold-brew",
    ]
    assert f"--after {CYCLE}.1" in ended.err
    assert run("keywords", "list", "--search", "tea").code == 0
