"""The judges of scenarios that judge for themselves: each can fail."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from envelope import new_event_id
from faults.playing.stack import Keyword, PipelineCounts, judge
from faults.scenarios.services import (
    batches,
    erasures,
    fail_over,
    requests,
    schedules,
    slots,
    subjects,
    vanished_messages,
)
from faults.scenarios.services.fail_over import KeywordEnding
from faults.strange_input.door import LONGEST_DETAIL, complaint_about
from faults.strange_input.messages import SECRET, ExpectedEnd, StrangeMessage
from messaging.flow import dead_letters

TEA: Keyword = ("acme", "tea")
JAM: Keyword = ("acme", "jam")
ACCEPTED = {"chain-1": TEA}


def seen(
    pages: int = 1, posts: int = 1, research: int = 1, dead: str = "", keyword: Keyword = TEA
) -> PipelineCounts:
    return PipelineCounts(
        Counter({keyword: pages}), Counter({keyword: posts}), Counter({keyword: research}), {dead} - {""}
    )


@pytest.mark.parametrize("good", [seen(), seen(0, 0, 1, "chain-1"), seen(1, 0, 1, "chain-1")])
def test_a_keyword_ends_as_a_page_and_a_post_or_as_a_dead_letter(good: PipelineCounts) -> None:
    assert judge(ACCEPTED, set(), good) == []


@pytest.mark.parametrize(
    ("bad", "invariant"),
    [
        (seen(0, 0), 1),
        (seen(1, 0), 1),
        (seen(2, 1), 1),
        (seen(1, 2), 1),
        (seen(1, 1, 2), 1),
        (seen(1, 1, 1, "chain-1"), 1),
        (seen(keyword=JAM), 2),
    ],
)
def test_a_keyword_that_ends_otherwise_is_noticed(bad: PipelineCounts, invariant: int) -> None:
    assert invariant in {violation.invariant for violation in judge(ACCEPTED, set(), bad)}


def test_what_was_in_doubt_may_have_been_done() -> None:
    assert judge({}, {TEA}, seen()) == []


def letter(detail: str) -> dead_letters.DeadLetter:
    headers = {"failure-reason": "exhausted", "failure-message": detail}
    return dead_letters.read(b"{}", headers, "research-commands").model_copy(update={"detail": detail})


STRANGE = StrangeMessage(
    "strange", "research-commands", b"{}", ExpectedEnd.DEATH, new_event_id(), ("keyword",)
)


@pytest.mark.parametrize(
    "detail",
    [
        "",
        " ",
        f"keyword: not {SECRET}",
        "keyword " * LONGEST_DETAIL,
        "keyword: \x1b[31m",
        "ValueError: something is wrong",
    ],
)
def test_a_reason_that_a_person_can_make_nothing_of_is_noticed(detail: str) -> None:
    assert complaint_about(letter(detail), STRANGE)


def test_a_reason_that_names_the_field_will_do() -> None:
    assert complaint_about(letter("payload.keyword: Field required"), STRANGE) is None


def fired(
    cycles: int = 1, firings: int = 1, not_ahead: str = "", given_up: int = 0
) -> schedules.ScheduleCounts:
    names = frozenset({not_ahead} - {""})
    return schedules.ScheduleCounts(Counter(tea=cycles, jam=1), Counter(tea=firings, jam=1), names, given_up)


@pytest.mark.parametrize(
    ("seen", "complaint"),
    [
        (fired(2, 2), "1 due times fired more than once, such as tea"),
        (fired(2, 1), "fired more than once"),
        (fired(1, 2), "not what was begun"),
        (fired(not_ahead="jam"), "no time to come"),
        (fired(given_up=1), "given up"),
        (
            schedules.ScheduleCounts(Counter(jam=1), Counter(jam=1), frozenset(), 0),
            "1 schedules have begun no cycle",
        ),
    ],
)
def test_a_due_time_fires_once_and_another_is_to_come(seen: schedules.ScheduleCounts, complaint: str) -> None:
    assert complaint in "; ".join(each.detail for each in schedules.judge(seen, 2))
    assert not list(schedules.judge(fired(), 2))


ENDED = [("subject 0 0", "completed"), ("subject 0 1", "completed")]
REQUESTED = {"subject 0 0": {"a"}, "subject 0 1": {"b"}}


@pytest.mark.parametrize(
    ("ended", "requested", "complaint"),
    [
        (ENDED[:1], REQUESTED, "1 keywords are stored of 2"),
        ([ENDED[0], ("subject 0 1", "writing")], REQUESTED, "1 keywords ended otherwise"),
        (ENDED, REQUESTED | {"subject 0 1": {"b", "c"}}, "asked of research by two commands"),
        (ENDED, {"subject 0 0": {"a"}}, "1 keywords were never asked of research"),
    ],
)
def test_each_keyword_of_a_batch_is_asked_for_once_and_ends_as_answered(
    monkeypatch: pytest.MonkeyPatch,
    ended: list[tuple[str, str]],
    requested: dict[str, set[str]],
    complaint: str,
) -> None:
    monkeypatch.setattr(batches, "end_of", lambda _: "completed")
    assert complaint in "; ".join(each.detail for each in batches.judge(ended, requested, total=2))
    assert not list(batches.judge(ENDED, REQUESTED, total=2))


ONE, OTHER = b'{"cycle_id": "1"}', b'{"cycle_id": "2"}'


@pytest.mark.parametrize(
    ("cycles", "answers", "replayed", "complaint"),
    [
        (Counter(tea=1), [{ONE}, {OTHER}], 2, "1 requests have begun no cycle"),
        (Counter(tea=2, jam=1), [{ONE}, {OTHER}], 2, "more than one cycle, such as tea"),
        (Counter(tea=1, jam=1), [{ONE, OTHER}, {OTHER}], 2, "answered in two ways"),
        (Counter(tea=1, jam=1), [{ONE}, {b"422 no"}], 2, "a request was refused"),
        (Counter(tea=1, jam=1), [{ONE}, {OTHER}], 0, "1 answers died on the way, and 0 were had again"),
    ],
)
def test_a_request_that_is_sent_again_has_one_cycle_and_one_answer(
    cycles: Counter[str], answers: list[set[bytes]], replayed: int, complaint: str
) -> None:
    found = requests.judge(cycles, answers, died=1, replayed=replayed)
    assert complaint in "; ".join(each.detail for each in found)
    assert not list(requests.judge(Counter(tea=1, jam=1), [{ONE}, {OTHER}], died=1, replayed=2))


def ended(
    keyword: str, state: str = "completed", article: str | None = "a", *, stands: bool = True
) -> object:
    return {"keyword": keyword, "state": state, "content_id": article, "stands": stands}


GOOD = [ended("kettle no2"), ended("Kettles  no2"), ended("kettle no0", "refused", None, stands=False)]


def test_a_subject_with_one_article_in_all_its_spellings_is_in_order() -> None:
    assert not list(subjects.judge(GOOD, ["kettle no2"], total=3))


@pytest.mark.parametrize(
    ("rows", "articles", "complaint"),
    [
        (GOOD[:2], ["kettle no2"], "2 keywords are stored of 3"),
        ([*GOOD[:2], ended("kettle no0")], ["kettle no2"], "1 keywords ended otherwise"),
        ([*GOOD[1:], ended("KETTLE NO2?", stands=False)], ["kettle no2"], "completed without an article"),
        ([*GOOD[1:], ended("KETTLE NO2?", article="b")], ["kettle no2"], "articles were published on"),
        (GOOD, ["kettle no2", "kettleno2"], "2 articles were published on 1 subjects"),
    ],
)
def test_a_subject_with_another_end_or_several_articles_is_noticed(
    rows: list[object], articles: list[str], complaint: str
) -> None:
    assert complaint in "; ".join(each.detail for each in subjects.judge(rows, articles, total=3))


EVERYBODY = ("orchestrator", "research", "publisher", "social", "monitor", "events")


def test_a_brand_that_every_service_has_forgotten_is_in_order() -> None:
    assert not list(erasures.judge({"acme": EVERYBODY}, [("orchestrator.erasures", "acme")]))


@pytest.mark.parametrize(
    ("answered", "place", "complaint"),
    [
        (EVERYBODY[1:], "orchestrator.erasures", "acme: no receipt of orchestrator"),
        (EVERYBODY, "research.research", "acme is still in research.research"),
        (EVERYBODY, "monitor.outbox", "acme is still in monitor.outbox"),
    ],
)
def test_a_brand_that_somebody_has_not_forgotten_is_noticed(
    answered: tuple[str, ...], place: str, complaint: str
) -> None:
    found = erasures.judge({"acme": answered}, [(place, "acme")])
    assert [each.detail for each in found] == [complaint]


ARTICLES = (UUID(int=1), UUID(int=2))
NINE = datetime(2027, 3, 1, 9, tzinfo=UTC)
HALF = timedelta(minutes=30)


def in_slots(**changes: Any) -> slots.SlotCounts:
    good = {
        "slots": (NINE, NINE + HALF),
        "shown": Counter(ARTICLES),
        "left": (),
        "again": Counter(ARTICLES),
        "slots_again": (NINE + 2 * HALF, NINE + 3 * HALF),
        "contents": ARTICLES,
    }
    return slots.SlotCounts(**{**good, **changes})


@pytest.mark.parametrize(
    ("seen", "complaint"),
    [
        (in_slots(slots=(NINE, NINE)), "1 slots were given to two new posts"),
        (in_slots(slots_again=(NINE,)), "2 slots are wanted for posts made again, and 1 given"),
        (in_slots(slots=(NINE, NINE + HALF / 7)), "new posts have times that are no slots"),
        (in_slots(shown=Counter(ARTICLES) + Counter(ARTICLES[:1])), "is there 2 times"),
        (in_slots(shown=Counter(ARTICLES[:1])), "is there 0 times"),
        (in_slots(again=Counter(ARTICLES) + Counter(ARTICLES[:1])), "was made again 2 times"),
        (in_slots(left=("sending",)), "posts were left behind: {'sending': 1}"),
    ],
)
def test_posts_have_slots_of_their_own_and_are_out_once(seen: slots.SlotCounts, complaint: str) -> None:
    assert complaint in "; ".join(each.detail for each in slots.judge(seen))
    assert not list(slots.judge(in_slots()))


NOBODY_ANSWERED = "no outcome after 10 seconds in writing"


@pytest.mark.parametrize(
    "good",
    [
        ("completed", "", seen()),
        ("failed", "insufficient_sources", seen(0, 0)),
        ("writing", "", seen(0, 0, dead="chain-1")),
        ("failed", NOBODY_ANSWERED, seen(0, 0, dead="chain-1")),
    ],
)
def test_after_a_fail_over_a_keyword_is_there_or_somebody_knows_why_not(
    good: tuple[str, str, PipelineCounts],
) -> None:
    state, setbacks, there = good
    assert list(fail_over.judge({"chain-1": KeywordEnding(TEA, state, setbacks)}, there)) == []


@pytest.mark.parametrize(
    "bad",
    [
        ("completed", "", seen(1, 0)),
        ("completed", "", seen(0, 1)),
        ("completed", "", seen(1, 2)),
        ("writing", "", seen(0, 0)),
        ("failed", NOBODY_ANSWERED, seen(0, 0)),
        ("failed", "insufficient_sources", seen(2, 0)),
    ],
)
def test_after_a_fail_over_what_is_lost_stands_still_or_is_there_twice_is_told(
    bad: tuple[str, str, PipelineCounts],
) -> None:
    state, setbacks, there = bad
    assert list(fail_over.judge({"chain-1": KeywordEnding(TEA, state, setbacks)}, there))


TAKEN = {"m-1": "research-commands"}
COUNTS = {"accepted": 3, "done": 2, "under_way": 0, "dead_letters": 0, "discarded": 0, "missing": 1}


def missed(queue: str = "research-commands") -> dict[str, Any]:
    return {"queue": queue, "last_hop": f"The broker confirmed it into the queue {queue} at 12:00."}


def test_a_ledger_that_misses_what_vanished_and_nothing_else_is_right() -> None:
    assert list(vanished_messages.judge(TAKEN, {"m-1": missed()}, COUNTS)) == []


@pytest.mark.parametrize(
    ("found", "changed", "invariant"),
    [
        ({}, {"missing": 0, "done": 3}, 1),
        ({"m-1": missed("social-commands")}, {}, 0),
        ({"m-1": missed(), "m-2": missed()}, {"missing": 2, "done": 1}, 2),
        ({"m-1": missed()}, {"accepted": 4}, 0),
        ({"m-1": missed()}, {"missing": 0, "done": 3}, 0),
    ],
)
def test_a_ledger_that_is_wrong_is_noticed(
    found: dict[str, Any], changed: dict[str, int], invariant: int
) -> None:
    violations = list(vanished_messages.judge(TAKEN, found, COUNTS | changed))
    assert [each.invariant for each in violations] == [invariant]
