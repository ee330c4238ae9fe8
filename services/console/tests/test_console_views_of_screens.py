"""Contents of the pages about keywords, articles and posts, from the services' answers alone."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from console.articles.views import article_state, measures_of, places_of
from console.home.views import day_around, summaries, today
from console.keywords.views import (
    KeywordId,
    advice_for,
    count_entries,
    events_of,
    keyword_line,
    list_type,
    steps_of,
    without_code,
)
from console.list_filters import ListFilter, safe_link
from console.posts.views import actions_for, link_card, post_line, post_wait
from console.texts import TextCatalogue, Texts

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
CYCLE = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"
TIMES = dict.fromkeys(("research_asked_at", "researched_at", "writing_asked_at", "published_at", "ended_at"))


def keyword(**changes: Any) -> dict[str, Any]:
    return {
        "keyword": "cold brew",
        "state": "queued",
        "reason": None,
        "waits": None,
        "waits_until": None,
        "content_id": None,
        "published_url": None,
        "has_standing_article": False,
        "posts": [],
        "placements": [],
        "brand_slug": "acme",
        "cycle_id": CYCLE,
        "position": 12,
        "submitted_by": "Ada",
        "priority": "high",
        "accepted_at": "2027-03-01T08:00:00Z",
        "moved_at": "2027-03-01T08:30:00Z",
        "times": TIMES,
        **changes,
    }


def post(**changes: Any) -> dict[str, Any]:
    return {
        "post_id": CYCLE,
        "channel": "mastodon",
        "account": None,
        "state": "scheduled",
        "title": "Cold brew",
        "text": "Twelve hours,\n\nand no longer.",
        "link": "https://acme.example/cold-brew",
        "at": NOW.isoformat(),
        "since": "2027-03-01T08:00:00Z",
        "due_at": NOW.isoformat(),
        "post_url": None,
        "detail": "",
        "retry_at": None,
        **changes,
    }


def test_a_keyword_is_found_by_the_cursor_behind_it() -> None:
    line = keyword_line(keyword())
    found = KeywordId.of(line.id)
    assert found is not None
    assert (found.cycle_id, found.behind) == (CYCLE, f"{CYCLE}.13")
    assert KeywordId.of(f"{CYCLE}.x") is None


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("insufficient_sources: the corpus has too little.", "The corpus has too little."),
        ("insufficient_sources (The corpus has too little.)", "The corpus has too little."),
        ("waits for a person: 5 drafts", "waits for a person: 5 drafts"),
        ("", ""),
    ],
)
def test_a_reason_is_shown_without_its_code(reason: str, sentence: str) -> None:
    assert without_code(reason) == sentence


def test_a_refused_keyword_is_told_what_would_help() -> None:
    refused = keyword(state="refused", reason="insufficient_sources: the corpus has too little")
    assert [each.key for each in advice_for(refused)] == ["more_documents", "other_words", "again"]
    assert advice_for(refused)[0].path == "/b/acme/sources"
    held = keyword(waits="waits for a person: 5 drafts of its brand wait for review")
    assert [each.key for each in advice_for(held)] == ["look_at_drafts"]
    assert advice_for(keyword(state="writing"), {"state": "stuck"})[0].key == "retry_writing"
    assert advice_for(keyword()) == ()


def test_the_steps_of_a_keyword_end_where_it_stopped() -> None:
    assert [each.state for each in steps_of(keyword())] == ["done", "now", "ahead", "ahead", "ahead"]
    stopped = keyword(state="failed", times={**TIMES, "writing_asked_at": "2027-03-01T08:10:00Z"})
    assert [each.state for each in steps_of(stopped)] == ["done", "done", "stopped", "ahead", "ahead"]
    assert {each.state for each in steps_of(keyword(state="completed"))} == {"done"}


def test_the_history_of_a_keyword_is_in_the_order_of_time_and_ends_with_its_state() -> None:
    item = keyword(
        state="completed",
        times={**TIMES, "research_asked_at": "2027-03-01T08:05:00Z", "published_at": "2027-03-01T08:20:00Z"},
        published_url="http://a.example/cold-brew",
        posts=[{"platform": "feed", "url": "http://a.example/1", "state": "posted", "posted_at": None}],
        placements=[
            {
                "target": "blog",
                "state": "failed",
                "url": None,
                "reason": "it is away",
                "asked_at": "2027-03-01T08:25:00Z",
                "answered_at": None,
            }
        ],
    )
    decision = {"at": "2027-03-01T08:15:00+00:00", "decision": "approved", "by": "Ada", "comment": ""}
    letter = {"failed_at": "2027-03-01T08:06:00Z", "type": "content.generate", "detail": "away"}
    events = events_of(item, workflow=None, content=None, decisions=[decision], letters=[letter])
    assert [each.key for each in events] == [
        "submitted_by",
        "turn",
        "dead_letter",
        "decision.approved",
        "published",
        "placement.failed",
        "posted",
        "now.completed",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        ("cold brew\n\nmoka pot\n", "text/plain", 2),
        ("keyword,priority\ncold brew,high\n", "text/csv", 1),
        ("\ufeffpriority;keyword\nhigh;cold brew", "text/csv", 1),
        ("keyword research tools\n", "text/plain", 1),
        ("", "text/plain", 0),
    ],
)
def test_a_pasted_table_is_told_from_a_list(text: str, kind: str, count: int) -> None:
    assert (list_type(text), count_entries(text)) == (kind, count)


def test_filters_stand_in_the_address_and_unknown_ones_are_left_out() -> None:
    wanted = ListFilter.of(
        {"q": "  cold  brew ", "state": "failed", "age": "week", "after": "x.1"}, {"failed"}
    )
    assert (wanted.text, wanted.since(NOW)) == ("cold brew", NOW - timedelta(days=7))
    assert wanted.query(after="y.2") == "?q=cold+brew&state=failed&age=week&after=y.2"
    assert not ListFilter.of({"state": "'; drop", "age": "ever"}, {"failed"}).is_set
    assert safe_link("javascript:alert(1)") is None


def test_a_minute_past_its_time_a_post_says_what_it_waits_for() -> None:
    def told(**changes: Any) -> str:
        found = post_wait(post(**changes), NOW + timedelta(minutes=2))
        return "" if found is None else found.key

    planned = post_wait(post(), NOW - timedelta(minutes=1))
    assert planned is not None
    assert planned.key == "time"
    assert told() == "late"
    assert told(retry_at=(NOW + timedelta(hours=1)).isoformat()) == "late_held"
    assert told(state="sending", retry_at=NOW.isoformat()) == "retry"
    assert [told(state=state) for state in ("waiting", "in_doubt", "failed", "posted")] == [
        "approval",
        "doubt",
        "failed",
        "",
    ]


def test_a_post_is_shown_with_its_link_and_may_be_changed_only_while_it_is_open() -> None:
    line = post_line(post(account="mastodon-eu", text="word " * 100), NOW)
    assert (line.place, len(line.snippet) <= 160) == ("mastodon-eu", True)
    card = link_card(post())
    assert card is not None
    assert card.host == "acme.example"
    assert link_card(post(link="javascript:alert(1)")) is None
    assert actions_for(post()).edit
    assert not actions_for(post(state="posted")).edit
    assert actions_for(post(state="in_doubt")).settle


def test_an_article_says_where_it_is_and_which_measures_miss_their_bounds() -> None:
    content = {"taken_down_at": None, "held_for": [], "published_url": "http://a.example/x"}
    asked = {
        "target": "blog",
        "state": "asked",
        "url": None,
        "reason": None,
        "asked_at": "x",
        "answered_at": None,
    }
    places = places_of(content, "site", [asked])
    assert [(each.target, each.state) for each in places] == [("site", "published"), ("blog", "asked")]
    assert article_state({**content, "held_for": ["why"]}) == "waiting"
    measures = [
        {"name": "words", "shown": "400", "least": 300.0, "most": None, "holds": True, "problem": None},
        {"name": "sources", "shown": "1", "least": 3.0, "most": None, "holds": False, "problem": "too few"},
    ]
    assert [(each.name, each.bound, each.least) for each in measures_of(measures)] == [
        ("sources", "least", "3"),
        ("words", "least", "300"),
    ]


def test_brands_that_wait_for_somebody_come_first() -> None:
    idle = {
        "brand_slug": "acme",
        "name": "Acme",
        "drafts_waiting": 0,
        "waiting_since": None,
        "held_up": False,
        "recently": None,
    }
    busy = {**idle, "brand_slug": "zoo", "name": "Zoo", "drafts_waiting": 5, "held_up": True}
    channel = {"posted": 1, "failed": 0, "waiting": 2, "planned": 3, "in_doubt": 1}
    account = {"brands": ["zoo"], "state": "expiring"}
    found = summaries([idle, busy], [{"brand_slug": "zoo", "channels": [channel]}], [account])
    assert [each.slug for each in found] == ["zoo", "acme"]
    assert [each.key for each in found[0].tasks] == ["held_up", "in_doubt", "posts", "accounts"]
    assert found[1].tasks == ()
    assert [each.is_idle for each in found] == [False, True]


def test_today_is_the_day_of_the_readers_zone() -> None:
    begin, end = day_around(datetime(2027, 3, 1, 23, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
    assert (begin.isoformat(), end.isoformat()) == ("2027-03-01T23:00:00+00:00", "2027-03-02T23:00:00+00:00")
    article = {
        "at": "2027-03-01T10:00:00Z",
        "kind": "article",
        "title": "B",
        "content_id": "c",
        "schedule": None,
    }
    firing = {
        "at": "2027-03-01T11:00:00Z",
        "kind": "schedule",
        "title": "The schedule mondays asks for keywords",
        "content_id": None,
        "schedule": "mondays",
    }
    entry = {
        "at": "2027-03-01T09:00:00Z",
        "title": "A",
        "account": None,
        "channel": "x",
        "state": "planned",
        "post_id": "p",
    }
    assert [(each.title, each.path) for each in today("acme", [firing, article], [entry])] == [
        ("A", "/b/acme/posts/p"),
        ("B", "/b/acme/drafts/c"),
        ("mondays", "/b/acme/schedules/mondays"),
    ]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("fetch_research", "The writer received what research found"),
        ("model:outline again", "The model planned the sections again, with the new sources"),
        ("model:section 3", "The model wrote section 3"),
        ("model:section 3.mend.2", "The model mended sentences of section 3 that no source backed"),
        ("model:section 3.judge.5f2a", "The judge read section 3 beside its sources"),
        ("model:edit.judge.5f2a", "The judge read the smoothed sentences beside their sources"),
        ("model:front.repair", "An answer of the model was no good, so it was asked again"),
        ("a_new_step", "A further step of the writing was done"),
    ],
)
def test_a_step_of_the_writing_is_a_sentence(name: str, sentence: str) -> None:
    workflow = {"steps": [{"name": name, "finished_at": "2027-03-01T08:00:00Z"}], "state": "running"}
    events = events_of(keyword(), workflow=workflow, content=None, decisions=(), letters=())
    told = [
        Texts(TextCatalogue(), "en")(f"keywords.event.{each.key}", **each.fields)
        for each in events
        if each.key.startswith("step.")
    ]
    assert told == [sentence]
