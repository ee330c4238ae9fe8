"""The verdict of a long run: what grew from its second quarter to its last."""

from collections.abc import Callable

import pytest

from benchmarks.soak.flatness import Growth, Sample, growths

SECONDS = 400.0


def samples(
    memory: Callable[[float], float], rows: Callable[[float], float] = lambda _: 1_000
) -> list[Sample]:
    return [
        Sample(second, {"research": memory(second)}, {"research.outbox": round(rows(second))})
        for second in range(0, int(SECONDS), 10)
    ]


def found(given: list[Sample]) -> dict[str, Growth]:
    return {each.name: each for each in growths(given, SECONDS)}


def test_what_grows_while_the_services_warm_up_does_not_count() -> None:
    grown = found(samples(lambda second: 60.0 if second < 100 else 90.0))
    assert grown["memory of research, MB"].is_flat
    assert grown["memory of research, MB"].share == 0


@pytest.mark.parametrize(("last", "is_flat"), [(94.0, True), (95.0, False), (80.0, True)])
def test_memory_may_grow_by_a_twentieth(last: float, is_flat: bool) -> None:
    grown = found(samples(lambda second: 90.0 if second < 300 else last))
    assert grown["memory of research, MB"].is_flat is is_flat


def test_a_steady_leak_is_found() -> None:
    leaking = found(samples(lambda second: 80.0 + second / 20))
    assert not leaking["memory of research, MB"].is_flat


@pytest.mark.parametrize(("last", "is_flat"), [(1_090, True), (1_110, False)])
def test_rows_may_grow_by_a_tenth(last: float, is_flat: bool) -> None:
    grown = found(samples(lambda _: 90.0, lambda second: 1_000 if second < 300 else last))
    assert grown["rows of research.outbox"].is_flat is is_flat


def test_small_tables_are_no_figure() -> None:
    assert "rows of research.outbox" not in found(samples(lambda _: 90.0, lambda second: second))


def test_a_run_without_samples_of_a_quarter_has_no_verdict() -> None:
    with pytest.raises(ValueError, match="too short"):
        growths([each for each in samples(lambda _: 90.0) if each.second < 300], SECONDS)
