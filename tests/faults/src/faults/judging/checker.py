"""The nine invariants: pure functions from history and observation to violations.

The README of this folder lists their numbers. Only an empty result is good.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from faults.judging.history import CommandHistory
from faults.judging.observation import HandlerEffect, OutboxChange, RunObservation
from faults.workers.behaviours import ANY, EFFECT
from messaging.flow.policy import QueuePolicy
from messaging.topology import RETURNS

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: int
    """1 to 9; 0 for what a scenario demands beyond them."""
    detail: str

    def __str__(self) -> str:
        return f"[{self.invariant}] {self.detail}" if self.invariant else self.detail


@dataclass(frozen=True, slots=True)
class RunExpectations:
    """The checker's expectations of a run."""

    policy: QueuePolicy
    bound_queues: tuple[str, ...] = ()
    """Queues that what an effect sends must reach."""
    faults: tuple[str, ...] = ()
    """Faults that must have happened."""


def check(history: CommandHistory, seen: RunObservation, terms: RunExpectations) -> list[Violation]:
    """Everything that is wrong."""
    return [
        *accepted_commands_end_once(history, seen),
        *effects_were_submitted(history, seen),
        *doubtful_commands_end_at_most_once(history, seen),
        *decisions_are_in_sequence(seen),
        *no_two_writers_at_once(seen),
        *leases_are_respected(seen.outbox),
        *what_effects_send_arrives(seen, terms.bound_queues),
        *attempts_keep_to_the_policy(history, seen, terms.policy),
        *retries_wait_long_enough(seen.outbox, terms.policy),
        *replays_keep_the_conversation_and_end(history, seen),
        *nothing_is_left_over(seen),
        *every_fault_fired(history, terms.faults),
    ]


def lost(history: CommandHistory, seen: RunObservation) -> set[str]:
    """Accepted commands without any end."""
    return history.accepted - _ends(history, seen).keys()


def duplicated(seen: RunObservation) -> int:
    """Effects beyond the first of each command."""
    return sum(count - 1 for count in Counter(effect.command for effect in seen.effects).values())


def _ends(history: CommandHistory, seen: RunObservation) -> dict[str, list[str]]:
    """Command → its ends: `effect`, the reason of an open dead letter, or `discarded`."""
    ends: dict[str, list[str]] = defaultdict(list)
    for effect in seen.effects:
        ends[effect.command].append(EFFECT)
    for letter in seen.letters:
        ends[letter.command].append(letter.reason)
    for command in history.discarded:
        ends[command].append("discarded")
    return ends


# -- 1, 2, 3: conservation ---------------------------------------------------------------------------------------------


def accepted_commands_end_once(history: CommandHistory, seen: RunObservation) -> Iterator[Violation]:
    """1: exactly one of effect, open dead letter, discard; and the one that the command asked for."""
    ends = _ends(history, seen)
    yield from _some(1, "accepted and then lost", lost(history, seen))
    many = {command: ends[command] for command in history.accepted if len(ends.get(command, ())) > 1}
    yield from _some(
        1, "more than one end", (f"{command}: {', '.join(all_)}" for command, all_ in many.items())
    )
    for command_id in history.accepted & ends.keys():
        wanted = history.commands[command_id].expect
        other = [end for end in ends[command_id] if wanted not in {ANY, end} and end != "discarded"]
        if other:
            keyword = history.commands[command_id].keyword
            yield Violation(1, f"{keyword!r} ({command_id}) should end as {wanted}, not as {other[0]}")


def effects_were_submitted(history: CommandHistory, seen: RunObservation) -> Iterator[Violation]:
    """2: effects ⊆ submitted, dead letters too."""
    yield from _some(
        2, "an end without a command", sorted(_ends(history, seen).keys() - history.commands.keys())
    )


def doubtful_commands_end_at_most_once(history: CommandHistory, seen: RunObservation) -> Iterator[Violation]:
    """3: `info` ⇒ no end or one."""
    ends = _ends(history, seen)
    many = (
        f"{command}: {', '.join(ends[command])}"
        for command in history.in_doubt
        if len(ends.get(command, ())) > 1
    )
    yield from _some(3, "never confirmed, and more than one end", many)


# -- 4: one writer at a time -------------------------------------------------------------------------------------------


def decisions_are_in_sequence(seen: RunObservation) -> Iterator[Violation]:
    """4: the decisions of a brand are numbered 1, 2, 3 … without a gap and without a number given twice."""
    for brand, effects in _by_brand(seen).items():
        numbers = sorted(effect.number for effect in effects)
        if numbers != list(range(1, len(numbers) + 1)):
            wrong = sorted(set(range(1, len(numbers) + 1)) ^ set(numbers)) or numbers
            yield Violation(4, f"decisions of {brand!r} are out of sequence around number {wrong[0]}")


def no_two_writers_at_once(seen: RunObservation) -> Iterator[Violation]:
    """4: while one transaction decides for a brand, no other does."""
    for brand, effects in _by_brand(seen).items():
        turns: dict[tuple[datetime, str], datetime] = {}
        for effect in effects:
            turn = (effect.locked_at, effect.worker)
            turns[turn] = max(turns.get(turn, effect.written_at), effect.written_at)
        for ((_, first), written), ((locked, second), _) in pairwise(sorted(turns.items())):
            if locked < written:
                yield Violation(4, f"{first} and {second} decided for {brand!r} at the same time")


def leases_are_respected(changes: Sequence[OutboxChange]) -> Iterator[Violation]:
    """4: only the holder of a lease takes out or gives back the outbox row."""
    holder: dict[str, str] = {}
    for change in changes:
        if change.lease_after is not None:
            holder.setdefault(change.lease_after, change.worker)
        if change.kind in {"delete", "give_back"} and change.lease_before is not None:
            owner = holder.get(change.lease_before)
            if owner is not None and owner != change.worker:
                yield Violation(
                    4,
                    f"{change.worker} did a {change.kind} on a row that {owner} held the lease of ({change.row})",
                )


# -- 5: what is sent arrives -------------------------------------------------------------------------------------------


def what_effects_send_arrives(seen: RunObservation, bound_queues: Iterable[str]) -> Iterator[Violation]:
    """5: every effect's outgoing message reached every bound queue."""
    effects = {effect.command for effect in seen.effects}
    for queue in bound_queues:
        arrived = {arrival.causation_id for arrival in seen.arrivals if arrival.queue == queue}
        yield from _some(5, f"what it sent never reached {queue}", sorted(effects - arrived))


# -- 6: attempts and delays --------------------------------------------------------------------------------------------


def attempts_keep_to_the_policy(
    history: CommandHistory, seen: RunObservation, policy: QueuePolicy
) -> Iterator[Violation]:
    """6: no more attempts than the policy gives, and none counted against a message that did nothing wrong."""
    for command_id, attempts in attempts_made(seen).items():
        command = history.commands.get(command_id)
        if policy.max_attempts is not None and attempts > policy.max_attempts:
            yield Violation(6, f"{attempts} attempts, the policy gives {policy.max_attempts}: {command_id}")
        elif command is not None and attempts > command.attempts:
            yield Violation(
                6, f"{command.keyword!r} was penalised: attempt {attempts} instead of {command.attempts}"
            )


def attempts_made(seen: RunObservation) -> dict[str, int]:
    """Command → attempts, for those with more than one or a dead letter; 1 for any other."""
    made: dict[str, int] = defaultdict(lambda: 1)
    for change in seen.outbox:
        if _is_retry(change):
            made[change.command] = max(made[change.command], change.attempt)
    for letter in seen.letters:
        made[letter.command] = max(made[letter.command], letter.attempts)
    return made


def retries_wait_long_enough(changes: Sequence[OutboxChange], policy: QueuePolicy) -> Iterator[Violation]:
    """6: a retry is due no earlier than its backoff says, and taken no earlier than it is due."""
    due: dict[str, OutboxChange] = {}
    for change in changes:
        if _is_retry(change):
            due[change.row] = change
            backoff = policy.backoff(change.attempt - 1)
            if change.deliver_at - change.at < backoff * 0.99:
                wait = (change.deliver_at - change.at).total_seconds()
                yield Violation(
                    6, f"retry {change.attempt} after {wait:.3f} s instead of {backoff.total_seconds():.3f} s"
                )
        elif change.row in due and change.at < due[change.row].deliver_at and change.kind != "give_back":
            yield Violation(6, f"a retry left before it was due: {change.command}")


def _is_retry(change: OutboxChange) -> bool:
    return change.kind == "insert" and change.exchange == RETURNS and change.attempt > 1 and not change.again


# -- 7, 8, 9 -----------------------------------------------------------------------------------------------------------


def replays_keep_the_conversation_and_end(
    history: CommandHistory, seen: RunObservation
) -> Iterator[Violation]:
    """7: a replay belongs to the chain of what it replays, ends, and tells the monitor if it was handled."""
    effects = {effect.command: effect for effect in seen.effects}
    letters = {letter.command: letter for letter in seen.letters}
    told = {(arrival.replay_of, arrival.replay) for arrival in seen.arrivals}
    for replay in history.commands.values():
        if replay.replay_of is None:
            continue
        original = history.commands.get(replay.replay_of)
        end = effects.get(replay.id) or letters.get(replay.id)
        if end is None:
            if replay.id in history.accepted - history.discarded:
                yield Violation(7, f"the replay {replay.id} has not ended")
            continue
        if original is not None and end.correlation_id != original.correlation_id:
            yield Violation(7, f"the replay {replay.id} left the conversation of {original.id}")
        if replay.id in effects and (replay.replay_of, replay.id) not in told:
            yield Violation(7, f"nobody was told that the replay {replay.id} was handled")


def nothing_is_left_over(seen: RunObservation) -> Iterator[Violation]:
    """8: queues, outbox and crash markers are empty."""
    for queue, count in seen.leftovers.queues.items():
        if count:
            yield Violation(8, f"{count} messages left in {queue}, or never acknowledged")
    if seen.leftovers.outbox:
        yield Violation(8, f"{seen.leftovers.outbox} rows left in the outbox")
    if seen.leftovers.markers:
        yield Violation(8, f"{seen.leftovers.markers} crash markers left")


def every_fault_fired(history: CommandHistory, faults: Iterable[str]) -> Iterator[Violation]:
    """9: what never happened proves nothing."""
    for fault in faults:
        if not history.faults[fault]:
            yield Violation(9, f"the fault {fault!r} never happened")


def _by_brand(seen: RunObservation) -> dict[str, list[HandlerEffect]]:
    brands: dict[str, list[HandlerEffect]] = defaultdict(list)
    for effect in seen.effects:
        brands[effect.brand].append(effect)
    return brands


def _some(invariant: int, what: str, ids: Iterable[str]) -> Iterator[Violation]:
    """One violation that counts them all and names the first few."""
    found = list(ids)
    if found:
        more = ", …" if len(found) > _SHOWN else ""
        yield Violation(invariant, f"{what}: {len(found)} ({', '.join(found[:_SHOWN])}{more})")
