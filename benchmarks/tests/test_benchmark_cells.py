"""Many installations, calculated: no brand is lost, no cell too full, and the document has what the command makes."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cells import __main__ as cells
from benchmarks.cells.costs import DOCUMENTS, SOURCES, Assumptions, ProcessorCosts, Source, move_seconds
from benchmarks.cells.placement import (
    Brands,
    TooFullError,
    draw,
    lose,
    machines_of_a_cell,
    moving_seconds,
    place,
)

COSTS = ProcessorCosts(keyword=0.03, view=0.0002)
USUAL = Assumptions()
SIZES = st.lists(st.floats(0.0001, 3.0), min_size=1, max_size=60)


def brands(sizes: list[float]) -> Brands:
    return Brands(sizes, [1000 * size for size in sizes])


@given(SIZES, st.integers(1, 20))
def test_every_brand_has_one_cell_and_no_cell_is_above_its_bound(sizes: list[float], count: int) -> None:
    all_brands, machines = brands(sizes), machines_of_a_cell(brands(sizes), count, USUAL.bound)
    placed = place(all_brands, count, machines * USUAL.bound)
    assert len(placed.homes) == len(sizes)
    assert set(placed.homes) <= set(range(count))
    assert max(placed.loads) <= machines * USUAL.bound
    at_rest = sum(place(brands([]), count, machines).loads)
    assert sum(placed.loads) == pytest.approx(sum(sizes) + at_rest)


@given(SIZES, st.integers(2, 20), st.data())
def test_a_loss_moves_the_brands_of_the_lost_cell_alone_and_overfills_no_other(
    sizes: list[float], count: int, data: st.DataObject
) -> None:
    all_brands, lost = brands(sizes), data.draw(st.integers(0, count - 1))
    room = machines_of_a_cell(all_brands, count, USUAL.bound) * USUAL.bound
    before = place(all_brands, count, room)
    after = lose(before, lost, all_brands, room)
    moved = [brand for brand, home in enumerate(before.homes) if home != after.homes[brand]]
    assert moved == [brand for brand, home in enumerate(before.homes) if home == lost]
    assert lost not in after.homes
    assert max(after.loads) <= room


def test_a_brand_without_room_is_said_and_not_placed() -> None:
    with pytest.raises(TooFullError, match="brand 1"):
        place(brands([0.5, 0.6]), 1, room=1.0)


@given(SIZES, st.integers(1, 20), st.floats(1.0, 5.0))
def test_larger_brands_never_cost_less(sizes: list[float], count: int, growth: float) -> None:
    larger = brands([size * growth for size in sizes])
    assert machines_of_a_cell(larger, count, 0.7) >= machines_of_a_cell(brands(sizes), count, 0.7)
    more = brands([*sizes, sizes[0]])
    assert machines_of_a_cell(more, count, 0.7) >= machines_of_a_cell(brands(sizes), count, 0.7)


@pytest.mark.parametrize("field", ["keywords", "months", "views", "posts", "busy", "price", "disk_price"])
def test_no_assumption_that_grows_makes_it_cheaper(field: str) -> None:
    def dollars(assumed: Assumptions) -> float:
        return cells.Outcome.of(draw(500, "log-normal", assumed, COSTS, 7), 5, assumed).dollars

    usual = replace(USUAL, keywords=1000.0)
    assert dollars(replace(usual, **{field: 10 * getattr(usual, field)})) >= dollars(usual)


@pytest.mark.parametrize("skew", ["log-normal", "Zipf"])
def test_a_seed_draws_the_same_brands_and_they_have_the_average_that_was_asked_for(skew: cells.Skew) -> None:
    drawn = draw(1000, skew, USUAL, COSTS, 3)
    assert drawn == draw(1000, skew, USUAL, COSTS, 3) != draw(1000, skew, USUAL, COSTS, 4)
    assert sum(drawn.articles) == pytest.approx(1000 * USUAL.keywords * USUAL.months)
    assert max(drawn.articles) > 10 * sorted(drawn.articles)[500]


def test_moves_take_what_was_measured_and_share_their_time() -> None:
    assert [move_seconds(articles) for articles in (1, 10, 100, 1000)] == [5.9, 5.9, 23.0, 136.0]
    assert move_seconds(1900) == pytest.approx(136 + 113)
    one = Brands([1.0] * 4, [100.0] * 4)
    assert [moving_seconds(range(4), one, at_once) for at_once in (1, 2, 4, 9)] == [92.0, 46.0, 23.0, 23.0]
    assert moving_seconds([], one, 2) == 0


def test_one_cell_has_nowhere_to_move_its_brands() -> None:
    only = cells.Outcome.of(brands([0.1] * 10), 1, USUAL)
    assert (only.moved, only.brands) == (0, (10, 10))
    assert "| 52%, 52%, 52% |  |  |  | $120 |" in cells.table([("Zipf", only)])


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_every_measured_figure_is_still_in_its_page(source: Source) -> None:
    text = " ".join((DOCUMENTS / source.page).read_text().split())
    assert source.says in text, "renew benchmarks.cells.costs, then `make cells DOCS=1`"


def test_the_document_names_the_costs_of_now() -> None:
    assert cells.inputs(USUAL, ProcessorCosts.measured()) in cells.PAGE.read_text(), "`make cells DOCS=1`"


@pytest.mark.extended
def test_the_table_of_the_document_is_what_the_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "scaling.md"
    page.write_text(cells.PAGE.read_text())
    monkeypatch.setattr(cells, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["cells", "--docs"])
    cells.main()
    assert page.read_text() == (DOCUMENTS / "scaling.md").read_text(), "`make cells DOCS=1`"
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("| log", "| Zipf"))]
    assert Counter(line.split("|")[1].strip() for line in rows) == {"log-normal": 7, "Zipf": 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--brands 0", "argument --brands: 0 is too small; more than 0"),
        ("--cells 3 0", "argument --cells: 0 is too small"),
        ("--cells many", "invalid int value: 'many'"),
        ("--bound 1.5", "argument --bound: 1.5 is too large; at most 1"),
        ("--keywords nan", "argument --keywords: nan is too small"),
        ("--disk inf", "argument --disk: inf is too large"),
        ("--posts -1", "argument --posts: -1 is too small; 0 or more"),
    ],
)
def test_wrong_arguments_are_refused_by_name(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cells.parser().parse_args(arguments.split())
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_brands_may_have_no_posts_and_machines_no_price() -> None:
    told = cells.parser().parse_args(["--posts", "0", "--price", "0"])
    assert (told.posts, told.price, told.cells) == (0.0, 0.0, None)
