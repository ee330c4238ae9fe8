"""`brandctl content` as a process of its own, beside an orchestrator's API."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest

from tests.fixtures.commands.brandctl import CommandResult, brandctl

KEY = "test-service-key-0123456789"
HELD = UUID(int=1)
OLD = UUID(int=2)


def measure(name: str, shown: str, **bounds: Any) -> dict[str, Any]:
    told = {"name": name, "value": 1, "shown": shown, "least": None, "most": None, "problem": None, **bounds}
    return {**told, "holds": told["problem"] is None}


SCORES = {
    f"/v1/content/{HELD}/score": {
        "content_id": str(HELD),
        "brand_slug": "acme",
        "keyword": "cold brew",
        "title": "Cold \x1b[31mbrew",
        "published_url": None,
        "held_for": ["231 words, of at least 250"],
        "measures": [
            measure("words", "231", least=250.0, problem="231 words, of at least 250"),
            measure("title", "10 characters", least=1.0, most=60.0),
            measure("links", "to 0 articles of the brand"),
        ],
    },
    f"/v1/content/{OLD}/score": {
        "content_id": str(OLD),
        "brand_slug": "acme",
        "keyword": "moka pot",
        "title": "Moka pot",
        "published_url": "https://site.test/moka-pot",
        "held_for": [],
        "measures": [],
    },
}

EVIDENCE = {
    f"/v1/content/{HELD}/evidence": {
        "content_id": str(HELD),
        "version": 2,
        "sentences": [
            {"text": "It is mild.", "sources": [1, 3], "verdict": "confirmed", "given_by": "judge-1"},
            {"text": "It keeps.", "sources": [], "verdict": "kept", "given_by": "ann"},
        ],
        "cuts": [
            {
                "text": "It cures \x1b[31mall.",
                "problem": "its passages do not say “cures”",
                "nearest": "Mild.",
                "kept_by": None,
            },
            {"text": "It keeps.", "problem": "none says so", "nearest": "", "kept_by": "ann"},
        ],
        "passages": {},
    },
}


def article(content_id: UUID, title: str, **more: Any) -> dict[str, Any]:
    return {
        "content_id": str(content_id),
        "brand_slug": "acme",
        "keyword": "cold brew",
        "title": title,
        "state": "waiting",
        "word_count": 231,
        "published_url": None,
        "created_at": "2026-07-01T12:00:00Z",
        "updated_at": "2026-07-01T12:00:00Z",
        **more,
    }


MOKA_POT = article(
    OLD, "Moka pot", keyword="moka pot", state="published", published_url="https://site.test/moka-pot"
)
ARTICLES: dict[str, dict[str, Any]] = {
    "/v1/articles?limit=50": {"items": [article(HELD, "Cold \x1b[31mbrew"), MOKA_POT], "next": None},
    "/v1/articles?brand=acme&q=moka+pot&limit=1": {"items": [MOKA_POT], "next": str(OLD)},
    f"/v1/articles?brand=acme&q=moka+pot&after={OLD}&limit=1": {"items": [], "next": None},
}


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name that http.server calls
        found = (SCORES | EVIDENCE | ARTICLES).get(self.path)
        body = json.dumps(found or {"detail": "there is no article; try again later"}).encode()
        self.send_response(401 if self.headers["X-Service-Key"] != KEY else 200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


Run = Callable[..., CommandResult]


@pytest.fixture
def content(tmp_path: Path) -> Iterator[Run]:
    with serving() as url:

        def run(*arguments: str, **environment: str) -> CommandResult:
            variables = {"ORCHESTRATOR_URL": url, "SERVICE_KEY": KEY, "XDG_STATE_HOME": str(tmp_path)}
            return brandctl("content", *arguments, folder=tmp_path, variables=variables | environment)

        yield run


@pytest.fixture
def score(content: Run) -> Run:
    def run(*arguments: str, **environment: str) -> CommandResult:
        return content("score", *arguments, **environment)

    return run


def test_articles_of_all_cycles_are_listed_and_searched_page_by_page(content: Run) -> None:
    done = content("list")
    assert done.code == 0, done.err
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["id", "brand", "state", "written", "title", "address"],
        [str(HELD), "acme", "waiting", "2026-07-01", "Cold \ufffd[31mbrew", ""],
        [str(OLD), "acme", "published", "2026-07-01", "Moka pot", "https://site.test/moka-pot"],
    ]
    query = ("list", "--brand", "acme", "--search", "moka pot", "--limit", "1")
    first = content(*query)
    assert f"there are more: --after {OLD}" in first.err
    last = content(*query, "--after", str(OLD))
    assert (last.code, last.out, "no article matches" in last.err) == (0, "", True)
    assert json.loads(content(*query, "--json").out)["items"] == [MOKA_POT]


def test_on_a_terminal_articles_have_short_ids_that_commands_take(content: Run) -> None:
    done = content("list", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm", COLUMNS="80")
    assert done.code == 0
    assert str(OLD) not in done.out
    assert f"…{str(OLD)[-6:]}" in done.out
    shown = content("score", f"…{str(OLD)[-6:]}")
    assert (shown.code, "moka pot" in shown.err) == (0, True)


def test_each_measure_is_shown_with_its_bound_and_why_the_draft_waits(score: Run) -> None:
    done = score(str(HELD))

    assert done.code == 0
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["measure", "value", "bound", "holds"],
        ["words", "231", "at least 250", "no"],
        ["title", "10 characters", "at least 1, at most 60", "yes"],
        ["links", "to 0 articles of the brand", "", "yes"],
    ]
    assert done.err.endswith("(cold brew): needs a review: 231 words, of at least 250\n")
    assert "\x1b" not in done.out + done.err


def test_what_each_sentence_rests_on_is_shown_and_what_was_cut_and_why(content: Run) -> None:
    done = content("evidence", str(HELD))

    assert done.code == 0
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["verdict", "text", "sources, or why"],
        ["confirmed", "It is mild.", "[1], [3]"],
        ["kept by ann", "It keeps.", ""],
        ["cut", "It cures \N{REPLACEMENT CHARACTER}[31mall.", "its passages do not say “cures”"],
    ]
    assert done.err.endswith("version 2: 2 sentences, 1 cut\n")


def test_scripts_get_the_answer_itself(score: Run) -> None:
    done = score(str(HELD), "--json")
    assert json.loads(done.out) == SCORES[f"/v1/content/{HELD}/score"]


def test_what_has_no_measures_says_so_and_what_is_unknown_is_a_failure(score: Run) -> None:
    old, unknown, malformed = score(str(OLD)), score(str(UUID(int=3))), score("cold-brew")

    assert (old.code, old.out) == (0, "")
    assert old.err.endswith("(moka pot): written before articles were measured\n")
    assert unknown.code == 1
    assert "there is no article" in unknown.err
    assert malformed.code == 2
    assert score(str(OLD), SERVICE_KEY="").code == 2
