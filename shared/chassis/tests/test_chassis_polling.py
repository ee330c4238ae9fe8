"""Pollers in virtual time: the clock of the loop jumps to its next timer, so nothing here waits."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any, Self, cast

import pytest
import structlog
from prometheus_client import Counter
from structlog.typing import EventDict

from chassis import Connections, DatabaseUnavailableError
from chassis.polling import Alarm, Poller

EVERY = timedelta(seconds=10)


class _NoTime(selectors.SelectSelector):
    """Instead of waiting, moves the clock of its loop on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._time = _NoTime()
        super().__init__(self._time)

    def time(self) -> float:
        return self._time.now


class Database:
    """Connections to a database that is away until a moment."""

    def __init__(self) -> None:
        self.away_until = 0.0
        self.due: timedelta | None = None

    async def wait_until_available(self) -> None:
        await asyncio.sleep(max(self.away_until - asyncio.get_running_loop().time(), 0.0))

    def connection(self) -> "Database":
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def next_due(self, connection: object) -> timedelta | None:
        assert connection is self
        return self.due


class Rounds:
    """Work that notes when it is done; `meanwhile` is what else each round does."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
        self.times: list[float] = []
        self.database = Database()
        self.alarm = Alarm()
        self.counted = Counter("rounds", "Rounds.", ("task", "outcome"), registry=None)
        self.lines: list[EventDict] = []
        self._meanwhile = meanwhile

    async def work(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        if self._meanwhile is not None:
            await self._meanwhile()

    def poller(self, **options: Any) -> Poller:
        options = {"every": EVERY, "alarm": self.alarm, "rounds": self.counted} | options
        return Poller("tea", self.work, cast("Connections", self.database), **options)

    def run(self, seconds: float, *others: Callable[[], Awaitable[object]], **options: Any) -> list[float]:
        """Run a poller for so many virtual seconds; return when its rounds began."""

        async def run() -> None:
            tasks = [asyncio.ensure_future(each()) for each in (self.poller(**options).run, *others)]
            await asyncio.sleep(seconds)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        with (
            structlog.testing.capture_logs() as self.lines,
            asyncio.Runner(loop_factory=_VirtualLoop) as loop,
        ):
            loop.run(run())
        return self.times

    def count(self, outcome: str) -> float:
        return next(
            (
                each.value
                for each in next(iter(self.counted.collect())).samples
                if each.labels.get("outcome") == outcome
            ),
            0.0,
        )


@pytest.fixture(autouse=True)
def no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chassis.polling._JITTER", 0.0)


def test_it_works_at_once_and_then_at_the_interval() -> None:
    rounds = Rounds()
    assert rounds.run(35) == pytest.approx([0, 10, 20, 30])
    assert rounds.count("done") == 4
    assert rounds.lines == []


def test_the_time_a_round_takes_does_not_shift_the_next() -> None:
    async def meanwhile() -> None:
        await asyncio.sleep(3)

    rounds = Rounds(meanwhile)
    assert rounds.run(1005)[-1] == pytest.approx(1000)
    assert len(rounds.times) == 101


def test_rounds_that_a_long_one_overlaps_are_left_out() -> None:
    async def meanwhile() -> None:
        await asyncio.sleep(25 if len(rounds.times) == 2 else 0)

    rounds = Rounds(meanwhile)
    assert rounds.run(55) == pytest.approx([0, 10, 40, 50])


def test_a_timer_that_fires_a_little_early_causes_no_second_round() -> None:
    async def meanwhile() -> None:
        await asyncio.sleep(9.9985)  # the loop's clock is 1.5 milliseconds before the next round

    assert Rounds(meanwhile).run(35) == pytest.approx([0, 20])


def test_replicas_that_start_together_do_not_work_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chassis.polling._JITTER", 0.1)
    seconds = [Rounds().run(25)[1:] for _ in range(20)]
    assert len({first for first, _ in seconds}) > 1
    assert all(9 <= first <= 10 and second - first == pytest.approx(10) for first, second in seconds)


def test_work_that_falls_due_earlier_is_done_then() -> None:
    rounds = Rounds()
    rounds.database.due = timedelta(seconds=4)
    assert rounds.run(13, next_due=rounds.database.next_due) == pytest.approx([0, 4, 8, 10])


def test_work_that_is_due_later_does_not_prolong_the_interval() -> None:
    rounds = Rounds()
    rounds.database.due = timedelta(hours=1)
    assert rounds.run(25, next_due=rounds.database.next_due) == pytest.approx([0, 10, 20])


def test_work_that_stays_due_is_not_repeated_without_a_pause() -> None:
    rounds = Rounds()
    rounds.database.due = timedelta(seconds=-5)
    shortest = timedelta(seconds=2)
    assert rounds.run(5, next_due=rounds.database.next_due, shortest=shortest) == pytest.approx([0, 2, 4])


def test_an_alarm_starts_a_round_at_once() -> None:
    async def ring() -> None:
        await asyncio.sleep(3)
        rounds.alarm.ring()

    rounds = Rounds()
    assert rounds.run(25, ring) == pytest.approx([0, 3, 10, 20])


def test_an_alarm_during_a_round_is_not_missed() -> None:
    async def meanwhile() -> None:
        if len(rounds.times) == 1:
            await asyncio.sleep(1)
            rounds.alarm.ring()
            await asyncio.sleep(1)

    rounds = Rounds(meanwhile)
    assert rounds.run(9) == pytest.approx([0, 2])


def test_after_an_error_it_pauses_longer_and_longer_until_it_has_worked() -> None:
    async def meanwhile() -> None:
        if len(rounds.times) != 9:
            raise ValueError("no tea")

    rounds = Rounds(meanwhile)
    times = rounds.run(250)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[:8] == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60])
    assert pauses[8:11] == pytest.approx([7, 1, 2])  # on at the interval, and then the first pause again
    assert rounds.count("done") == 1
    assert rounds.count("failed") == len(times) - 1
    assert {(line["event"], line["task"], line["log_level"]) for line in rounds.lines} == {
        ("background_task_failed", "tea", "error")
    }


@pytest.mark.parametrize("wrap", [lambda error: error, lambda error: ExceptionGroup("readers", [error])])
def test_an_outage_of_the_database_is_waited_out_and_logged_once(
    wrap: Callable[[Exception], Exception],
) -> None:
    async def meanwhile() -> None:
        if asyncio.get_running_loop().time() < rounds.database.away_until:
            raise wrap(DatabaseUnavailableError("restarting"))

    rounds = Rounds(meanwhile)
    rounds.database.away_until = 33
    assert rounds.run(45) == pytest.approx([0, 33, 40])
    assert [(line["event"], line["task"], line["log_level"]) for line in rounds.lines] == [
        ("background_task_paused", "tea", "warning")
    ]
    assert (rounds.count("paused"), rounds.count("failed"), rounds.count("done")) == (1, 0, 2)


def test_an_outage_while_it_asks_for_the_next_due_time_is_waited_out() -> None:
    async def next_due(_: object) -> None:
        if len(rounds.times) == 1:
            raise DatabaseUnavailableError("restarting")

    rounds = Rounds()
    rounds.database.away_until = 3
    assert rounds.run(15, next_due=next_due) == pytest.approx([0, 3, 10])


def test_without_an_interval_it_works_until_it_has_succeeded() -> None:
    async def meanwhile() -> None:
        if len(rounds.times) < 3:
            raise ValueError("no tea")

    rounds = Rounds(meanwhile)
    assert rounds.run(1000, every=None) == pytest.approx([0, 1, 3])


def test_it_stops_promptly_in_a_pause_and_in_a_round() -> None:
    async def meanwhile() -> None:
        if len(rounds.times) == 2:
            await asyncio.Event().wait()

    rounds = Rounds(meanwhile)
    assert rounds.run(5) == [0]
    assert rounds.run(100) == pytest.approx([0, 0])


def test_work_may_be_done_once_more_at_the_end() -> None:
    rounds = Rounds()
    assert rounds.run(15, once_more=True) == pytest.approx([0, 10, 15])


def test_the_last_round_does_without_the_database() -> None:
    async def meanwhile() -> None:
        if len(rounds.times) == 2:
            raise DatabaseUnavailableError("gone")

    rounds = Rounds(meanwhile)
    assert rounds.run(5, once_more=True) == pytest.approx([0, 5])
