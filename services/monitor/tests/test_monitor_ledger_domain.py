"""What the ledger makes of the answers about one message."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from envelope import Catalogue, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from envelope.catalogue import command
from monitor.dead_letters import DeadLetterState
from monitor.ledger.domain import (
    DONE,
    Finding,
    LedgerMessage,
    LedgerPlace,
    LedgerState,
    Surroundings,
    Unhandled,
    judge,
    last_hop,
)
from monitor.ledger.message_routes import routes_of

SENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MESSAGE = LedgerMessage(
    new_event_id(), "research-commands", "orchestrator", "research.requested", "c", SENT, SENT
)


def around(minutes: float, **known: object) -> Surroundings:
    values = {"ready": None, "dead_ready": None, "done_until": {}} | known
    return Surroundings(now=SENT + minutes * MINUTE, overdue=10 * MINUTE, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "place", "known_minutes"),
    [
        (Unhandled("waiting", due_at=SENT + 50 * MINUTE), LedgerPlace.RETRY, 50),
        (Unhandled("waiting", due_at=SENT, is_unsent=True), LedgerPlace.RETRY, 30),
        (Unhandled("running", since=SENT), LedgerPlace.HANDLER, 30),
        (Unhandled("held"), LedgerPlace.HELD, 30),
        (Unhandled("dead_lettered", is_unsent=True), LedgerPlace.OUTBOX, 30),
    ],
)
def test_what_its_consumer_has_is_under_way_for_any_time(
    told: Unhandled, place: LedgerPlace, known_minutes: int
) -> None:
    found = judge(MESSAGE, told, None, around(30, ready=0))
    assert (found.state, found.place) == (LedgerState.UNDER_WAY, place)
    assert found.known_at == SENT + known_minutes * MINUTE


@pytest.mark.parametrize(
    ("letter", "state"),
    [
        (DeadLetterState.OPEN, LedgerState.DEAD_LETTER),
        (DeadLetterState.REPLAYING, LedgerState.UNDER_WAY),
        (DeadLetterState.RESOLVED, None),
        (DeadLetterState.DISCARDED, LedgerState.DISCARDED),
    ],
)
def test_a_dead_letter_decides(letter: DeadLetterState, state: LedgerState | None) -> None:
    # Also if its consumer knows nothing of it, since the broker itself dead-lettered it.
    for told in (Unhandled("dead_lettered"), Unhandled("unknown")):
        assert judge(MESSAGE, told, letter, around(30, ready=0)).state is state


def test_what_was_handled_is_done() -> None:
    assert judge(MESSAGE, None, None, around(30)) is DONE


UNKNOWN = Unhandled("unknown")


@pytest.mark.parametrize("ready", [None, 1, 100_000])
def test_what_may_be_in_its_queue_is_under_way(ready: int | None) -> None:
    found = judge(replace(MESSAGE, absent_since=SENT), UNKNOWN, None, around(600, ready=ready))
    assert found == Finding(LedgerState.UNDER_WAY, LedgerPlace.QUEUE, SENT, SENT, None)


def test_it_is_missing_once_it_is_overdue_and_its_queue_stayed_empty() -> None:
    first = judge(MESSAGE, UNKNOWN, None, around(30, ready=0))
    assert (first.state, first.absent_since) == (LedgerState.UNDER_WAY, SENT + 30 * MINUTE)
    seen = replace(MESSAGE, absent_since=first.absent_since)
    assert judge(seen, UNKNOWN, None, around(30.5, ready=0)).state is LedgerState.UNDER_WAY
    assert judge(seen, UNKNOWN, None, around(31, ready=0)).state is LedgerState.MISSING
    early = replace(MESSAGE, absent_since=SENT)
    assert judge(early, UNKNOWN, None, around(9, ready=0)).state is LedgerState.UNDER_WAY


def test_it_is_missing_once_much_younger_ones_were_handled() -> None:
    overtaken = around(30, ready=5, done_until={"orchestrator": SENT + 11 * MINUTE})
    assert judge(MESSAGE, UNKNOWN, None, overtaken).state is LedgerState.MISSING
    others = around(30, ready=5, done_until={"social": SENT + 11 * MINUTE, "orchestrator": None})
    assert judge(MESSAGE, UNKNOWN, None, others).state is LedgerState.UNDER_WAY


def test_a_retry_that_has_returned_to_its_queue_has_all_of_the_time_again() -> None:
    retried = replace(MESSAGE, place=LedgerPlace.RETRY, known_at=SENT + 29 * MINUTE)
    found = judge(
        retried, UNKNOWN, None, around(50, ready=0, done_until={"orchestrator": SENT + 49 * MINUTE})
    )
    assert (found.state, found.known_at) == (LedgerState.UNDER_WAY, SENT + 50 * MINUTE)


def test_a_missing_message_stays_so_until_it_is_seen() -> None:
    missing = replace(MESSAGE, state=LedgerState.MISSING, missing_since=SENT)
    assert judge(missing, UNKNOWN, None, around(90, ready=7)).state is LedgerState.MISSING
    assert judge(missing, Unhandled("running"), None, around(90)).state is LedgerState.UNDER_WAY


def test_a_dead_letter_that_does_not_arrive_is_missing_at_its_queue() -> None:
    dead = Unhandled("dead_lettered")
    first = judge(MESSAGE, dead, None, around(30, dead_ready=0))
    assert (first.state, first.place) == (LedgerState.UNDER_WAY, LedgerPlace.DEAD_LETTER_QUEUE)
    assert first.known_at is not None
    seen = replace(MESSAGE, place=first.place, known_at=first.known_at, absent_since=first.absent_since)
    found = judge(seen, dead, None, around(41, dead_ready=0))
    assert found.state is LedgerState.MISSING
    assert "research-commands-dlq" in last_hop("research-commands", "research", found.place, SENT)


def test_each_sender_and_queue_has_a_route_and_nothing_has_one_without_a_consumer() -> None:
    routes = routes_of(CATALOGUE)
    assert len({(each.sender, each.queue) for each in routes}) == len(routes)
    found = {(each.sender, each.queue): each for each in routes}
    to_research = found["orchestrator", "research-commands"]
    assert (to_research.consumer, to_research.exchange, to_research.routing_key) == (
        "research",
        "commands",
        "research-commands",
    )
    events = found["research", "orchestrator-events"]
    assert (events.consumer, events.exchange, events.routing_key) == ("orchestrator", "brand-events", None)
    to_the_log = found["research", "event-log"]
    assert (to_the_log.consumer, to_the_log.exchange, to_the_log.routing_key) == (
        "events",
        "brand-events",
        None,
    )
    alone = Catalogue(
        title="One",
        system="one",
        services=("a",),
        types=[command("x.y", ResearchRequested, to="a", producers=("a",))],
    )
    assert [(each.sender, each.consumer) for each in routes_of(alone)] == [("a", "a")]
