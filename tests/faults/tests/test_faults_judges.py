"""The judges of scenarios that judge for themselves: each can fail."""

from collections import Counter

import pytest

from envelope import new_event_id
from faults.playing.stack import Keyword, Seen, judge
from faults.strange_input.door import LONGEST_DETAIL, complaint_about
from faults.strange_input.messages import SECRET, Expected, Strange
from messaging.flow import dead_letters

TEA: Keyword = ("acme", "tea")
JAM: Keyword = ("acme", "jam")
ACCEPTED = {"chain-1": TEA}


def seen(pages: int = 1, posts: int = 1, research: int = 1, dead: str = "", keyword: Keyword = TEA) -> Seen:
    return Seen(
        Counter({keyword: pages}), Counter({keyword: posts}), Counter({keyword: research}), {dead} - {""}
    )


@pytest.mark.parametrize("good", [seen(), seen(0, 0, 1, "chain-1"), seen(1, 0, 1, "chain-1")])
def test_a_keyword_ends_as_a_page_and_a_post_or_as_a_dead_letter(good: Seen) -> None:
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
def test_a_keyword_that_ends_otherwise_is_noticed(bad: Seen, invariant: int) -> None:
    assert invariant in {violation.invariant for violation in judge(ACCEPTED, set(), bad)}


def test_what_was_in_doubt_may_have_been_done() -> None:
    assert judge({}, {TEA}, seen()) == []


def letter(detail: str) -> dead_letters.DeadLetter:
    headers = {"failure-reason": "exhausted", "failure-message": detail}
    return dead_letters.read(b"{}", headers, "research-commands").model_copy(update={"detail": detail})


STRANGE = Strange("strange", "research-commands", b"{}", Expected.DEATH, new_event_id(), ("keyword",))


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
