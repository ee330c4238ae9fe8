"""The checker, fed with what must pass and with what must not: at least one story per invariant."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from faults.judging import checker
from faults.judging.checker import RunExpectations, Violation, check
from faults.judging.history import CommandHistory, SubmittedCommand
from faults.judging.observation import (
    DeadLetterCopy,
    HandlerEffect,
    Leftovers,
    OutboxChange,
    QueueArrival,
    RunObservation,
)
from faults.workers.behaviours import BehaviourError, parse
from messaging import QueuePolicy

START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = QueuePolicy(max_attempts=3, backoff_base=1.0)
TERMS = RunExpectations(POLICY, bound_queues=("events", "tap"), faults=("kill",))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def command(name: str = "a", **facts: object) -> SubmittedCommand:
    return replace(
        SubmittedCommand(id=name, queue="work", brand="acme", keyword="ok", correlation_id=f"chain-{name}"),
        **facts,
    )


def effect(name: str = "a", number: int = 1, **facts: object) -> HandlerEffect:
    made = HandlerEffect(name, f"chain-{name}", "acme", number, "w1", at(number), at(number + 0.5))
    return replace(made, **facts)


def letter(name: str = "a", **facts: object) -> DeadLetterCopy:
    return replace(DeadLetterCopy(f"death of {name}", name, "work", "exhausted", 3, f"chain-{name}"), **facts)


def arrivals(name: str = "a", queues: tuple[str, ...] = ("events", "tap")) -> tuple[QueueArrival, ...]:
    return tuple(
        QueueArrival(queue, f"answer to {name}", name, "research.completed", f"chain-{name}")
        for queue in queues
    )


def change(kind: str, seconds: float, **facts: object) -> OutboxChange:
    made = OutboxChange(kind, "row", "a", "brand-events", at(seconds), at(seconds), "w1")
    return replace(made, **facts)


def told(
    *commands: SubmittedCommand, in_doubt: tuple[str, ...] = (), faults: tuple[str, ...] = ("kill",)
) -> CommandHistory:
    history = CommandHistory()
    for each in commands:
        history.invoke(each)
        if each.id in in_doubt:
            history.info(each.id, "TimeoutError()")
        else:
            history.ok(each.id)
    for fault in faults:
        history.fault(fault)
    return history


def broken(history: CommandHistory, seen: RunObservation, terms: RunExpectations = TERMS) -> set[int]:
    return {violation.invariant for violation in check(history, seen, terms)}


GOOD = RunObservation(effects=(effect(),), arrivals=arrivals())


def test_a_good_run_passes() -> None:
    seen = RunObservation(
        effects=(effect("a", 1), effect("b", 2)),
        letters=(letter("c"),),
        arrivals=(*arrivals("a"), *arrivals("b")),
        outbox=(
            change("insert", 0, lease_after="l1"),
            change("delete", 1, lease_before="l1"),
            change("insert", 2, row="retry", exchange="returns", attempt=2, deliver_at=at(3), command="c"),
            change(
                "claim", 3, row="retry", exchange="returns", attempt=2, deliver_at=at(3), lease_after="l2"
            ),
        ),
        leftovers=Leftovers({"work": 0}),
    )
    history = told(command("a"), command("b"), command("c", expect="exhausted", attempts=3))
    assert check(history, seen, TERMS) == []


# -- 1 -----------------------------------------------------------------------------------------------------------------


def test_1_an_accepted_command_without_an_end_is_lost() -> None:
    history = told(command("a"), command("b"))
    assert broken(history, GOOD) == {1}
    assert checker.lost(history, GOOD) == {"b"}


def test_1_an_effect_that_happened_twice_is_seen() -> None:
    seen = replace(GOOD, effects=(effect("a", 1), effect("a", 2)))
    assert broken(told(command()), seen) == {1}
    assert checker.duplicated(seen) == 1


def test_1_an_effect_and_a_dead_letter_are_one_end_too_many() -> None:
    seen = replace(GOOD, letters=(letter(attempts=1),))
    assert 1 in broken(told(command(expect="any")), seen)


def test_1_two_deaths_of_one_command_are_one_too_many() -> None:
    seen = RunObservation(letters=(letter(), letter(identity="another death")))
    assert broken(told(command(expect="exhausted", attempts=3)), seen) == {1}


def test_1_a_healthy_message_must_not_die() -> None:
    seen = RunObservation(letters=(letter(attempts=1),))
    assert broken(told(command()), seen) == {1}


def test_1_a_message_dies_for_the_reason_it_should() -> None:
    seen = RunObservation(letters=(letter(reason="delivery_limit", attempts=1),))
    assert broken(told(command(expect="crashed_consumer")), seen) == {1}


def test_1_a_discard_is_an_end() -> None:
    history = told(command())
    history.discard("a")
    assert check(history, RunObservation(), TERMS) == []
    assert broken(history, GOOD) == {1}


# -- 2 and 3 -----------------------------------------------------------------------------------------------------------


def test_2_an_effect_that_nobody_asked_for_is_seen() -> None:
    assert broken(told(), GOOD) == {2}


@pytest.mark.parametrize("seen", [RunObservation(), GOOD])
def test_3_a_command_in_doubt_may_have_had_an_effect_or_none(seen: RunObservation) -> None:
    assert check(told(command(), in_doubt=("a",)), seen, TERMS) == []


def test_3_a_command_in_doubt_has_one_effect_at_most() -> None:
    seen = replace(GOOD, effects=(effect("a", 1), effect("a", 2)))
    assert broken(told(command(), in_doubt=("a",)), seen) == {3}


# -- 4 -----------------------------------------------------------------------------------------------------------------

TWO = (*arrivals("a"), *arrivals("b"))


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 3), (2, 3)])
def test_4_decisions_are_numbered_without_gap_or_repetition(first: int, second: int) -> None:
    seen = RunObservation(effects=(effect("a", first), effect("b", second, locked_at=at(5))), arrivals=TWO)
    seen = replace(seen, effects=(seen.effects[0], replace(seen.effects[1], written_at=at(6))))
    assert broken(told(command("a"), command("b")), seen) == {4}


def test_4_two_writers_at_once_are_seen() -> None:
    overlapping = effect("b", 2, worker="w2", locked_at=at(1.2), written_at=at(1.8))
    seen = RunObservation(effects=(effect("a", 1), overlapping), arrivals=TWO)
    assert broken(told(command("a"), command("b")), seen) == {4}


def test_4_the_decisions_of_one_transaction_are_one_turn() -> None:
    together = effect("b", 2, locked_at=at(1), written_at=at(1.6))
    seen = RunObservation(effects=(effect("a", 1), together), arrivals=TWO)
    assert check(told(command("a"), command("b")), seen, TERMS) == []


@pytest.mark.parametrize("kind", ["delete", "give_back"])
def test_4_an_old_lease_holder_must_not_touch_the_row(kind: str) -> None:
    outbox = (
        change("insert", 0, worker="old", lease_after="l1"),
        change("claim", 5, worker="new", lease_before="l1", lease_after="l2"),
        change(kind, 6, worker="old", lease_before="l2"),
    )
    assert broken(told(command()), replace(GOOD, outbox=outbox)) == {4}


def test_4_a_lease_that_ran_out_may_be_taken_over() -> None:
    outbox = (
        change("insert", 0, worker="old", lease_after="l1"),
        change("claim", 5, worker="new", lease_before="l1", lease_after="l2"),
        change("delete", 6, worker="new", lease_before="l2"),
    )
    assert check(told(command()), replace(GOOD, outbox=outbox), TERMS) == []


# -- 5 and 6 -----------------------------------------------------------------------------------------------------------


def test_5_every_bound_queue_must_get_what_an_effect_sends() -> None:
    assert broken(told(command()), replace(GOOD, arrivals=arrivals(queues=("events",)))) == {5}


def retry(attempt: int, wait: float, **facts: object) -> OutboxChange:
    return change("insert", 0, exchange="returns", attempt=attempt, deliver_at=at(wait), **facts)


def test_6_more_attempts_than_the_policy_gives_are_seen() -> None:
    seen = RunObservation(letters=(letter(attempts=4),))
    assert broken(told(command(expect="exhausted", attempts=3)), seen) == {6}


def test_6_a_message_that_pays_for_a_neighbour_is_seen() -> None:
    assert broken(told(command()), replace(GOOD, outbox=(retry(2, 1.0),))) == {6}


def test_6_a_retry_waits_for_its_backoff() -> None:
    history = told(command(attempts=3))
    assert check(history, replace(GOOD, outbox=(retry(3, 2.0),)), TERMS) == []
    assert broken(history, replace(GOOD, outbox=(retry(3, 1.0),))) == {6}


def test_6_what_a_process_put_down_when_it_ended_need_not_wait() -> None:
    history = told(command(attempts=3))
    again = retry(3, 0.0, again=True, row="again")
    assert check(history, replace(GOOD, outbox=(retry(3, 2.0), again)), TERMS) == []


def test_6_a_retry_does_not_leave_before_it_is_due() -> None:
    early = change("claim", 0.5, exchange="returns", attempt=2, deliver_at=at(1), lease_after="l1")
    assert broken(told(command(attempts=2)), replace(GOOD, outbox=(retry(2, 1.0), early))) == {6}


# -- 7 -----------------------------------------------------------------------------------------------------------------

DEAD = command("a", expect="exhausted", attempts=3)
REPLAY = command("r", correlation_id="chain-a", replay_of="a")
WORD = QueueArrival(
    "monitor-commands", "word", "r", "dead_letter.resolved", "chain-a", replay_of="a", replay="r"
)
REPLAYED = RunObservation(
    effects=(effect("r", correlation_id="chain-a"),),
    letters=(letter(),),
    arrivals=(*arrivals("r"), WORD),
)


def test_7_a_replay_that_was_handled_passes() -> None:
    assert check(told(DEAD, REPLAY), REPLAYED, TERMS) == []


def test_7_a_replay_stays_in_its_conversation() -> None:
    seen = replace(REPLAYED, effects=(effect("r", correlation_id="another"),))
    assert broken(told(DEAD, REPLAY), seen) == {7}


def test_7_a_replay_ends() -> None:
    assert broken(told(DEAD, REPLAY), replace(REPLAYED, effects=())) == {1, 7}


def test_7_that_a_replay_was_handled_is_told() -> None:
    assert broken(told(DEAD, REPLAY), replace(REPLAYED, arrivals=arrivals("r"))) == {7}


# -- 8 and 9 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [Leftovers({"work": 1}), Leftovers(outbox=1), Leftovers(markers=1)])
def test_8_nothing_may_be_left_over(left: Leftovers) -> None:
    assert broken(told(command()), replace(GOOD, leftovers=left)) == {8}


def test_9_a_fault_that_never_happened_proves_nothing() -> None:
    assert broken(told(command(), faults=()), GOOD) == {9}


# -- around it ---------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_counted_and_the_first_few_are_named() -> None:
    history = told(*(command(f"c{number}") for number in range(9)))
    (violation,) = checker.accepted_commands_end_once(history, RunObservation())
    assert violation.detail.startswith("accepted and then lost: 9 (")
    assert violation.detail.endswith(", …)")
    assert str(Violation(1, "x")) == "[1] x"


def test_a_history_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    history = CommandHistory(tmp_path / "history.jsonl")
    history.invoke(command("a", attempts=2))
    history.ok("a")
    history.invoke(command("b"))
    history.info("b", "TimeoutError()")
    history.fault("kill", 2)
    history.discard("a")
    history.note("worker", pid=1)
    history.close()
    again = CommandHistory.read(tmp_path / "history.jsonl")
    assert again.commands == history.commands
    assert (again.accepted, again.in_doubt, again.discarded) == ({"a"}, {"b"}, {"a"})
    assert again.faults == {"kill": 2}


def test_a_confirm_for_one_copy_is_enough() -> None:
    history = told(command())
    history.info("a", "TimeoutError()")
    assert history.in_doubt == set()


@pytest.mark.parametrize(
    ("keyword", "end", "attempts"),
    [
        ("ok 1", "effect", 1),
        ("fail:2 1", "effect", 3),
        ("fail:3 1", "exhausted", 3),
        ("poison 1", "exhausted", 3),
        ("refuse 1", "permanent", 1),
        ("crash 1", "crashed_consumer", 1),
    ],
)
def test_behaviours_say_how_they_must_end(keyword: str, end: str, attempts: int) -> None:
    behaviour = parse(keyword)
    assert (behaviour.expected_end(3), behaviour.allowed_attempts(3)) == (end, attempts)


def test_an_unknown_behaviour_is_refused_by_name() -> None:
    with pytest.raises(BehaviourError, match="'explode' is no behaviour: ok, slow"):
        parse("explode 1")
