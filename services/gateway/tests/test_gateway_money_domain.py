"""Amounts, periods and caps, without a database."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from gateway.money import ALL, Charge, SpendingCaps, TokenPrice, dollars, micros
from gateway.money.domain import (
    BudgetExhausted,
    BudgetPeriod,
    BudgetReserved,
    BudgetTooSmall,
    BudgetUse,
    SpendingStopped,
    following,
    refusal,
)

DAY = date(2026, 12, 31)
NO_CAPS = SpendingCaps(None, None)


def test_amounts_are_whole_and_never_rounded_down() -> None:
    assert [micros(Decimal(text)) for text in ("2.50", "0.000001", "0.0000001", "0")] == [2_500_000, 1, 1, 0]
    assert [dollars(amount) for amount in (2_500_000, 1, 0, 1_234_567)] == [
        "2.50", "0.000001", "0.00", "1.234567"
    ]  # fmt: skip
    for wrong in ("-1", "NaN", "Infinity"):
        with pytest.raises(ValueError, match="not negative"):
            micros(Decimal(wrong))


def test_tokens_cost_what_the_price_list_says_and_a_fraction_a_whole_micro_dollar() -> None:
    price = TokenPrice(read=150_000, written=600_000)
    assert price.of(1_000_000, 1_000_000) == 750_000
    assert price.of(1000, 500) == 450
    assert (price.of(1, 0), price.of(0, 0)) == (1, 0)


def test_periods_begin_at_midnight_of_utc() -> None:
    assert following(BudgetPeriod.DAY, DAY) == datetime(2027, 1, 1, tzinfo=UTC)
    assert following(BudgetPeriod.MONTH, DAY) == datetime(2027, 1, 1, tzinfo=UTC)
    assert following(BudgetPeriod.MONTH, date(2026, 2, 3)) == datetime(2026, 3, 1, tzinfo=UTC)


def taken(reserved: int = 0, **amounts: int) -> dict[tuple[str, BudgetPeriod], BudgetUse]:
    return {
        (scope, period): BudgetUse(amounts.get(f"{'all' if scope == ALL else scope}_{period}", 0), reserved)
        for scope in (ALL, "acme")
        for period in BudgetPeriod
    }


def test_a_cap_is_reached_to_the_last_micro_dollar_and_not_passed() -> None:
    caps = [("acme", SpendingCaps(day=100, month=None)), (ALL, NO_CAPS)]
    assert refusal(Charge("acme", DAY, 40), taken(acme_day=60), caps) is None
    assert refusal(Charge("acme", DAY, 41), taken(acme_day=60), caps) == BudgetExhausted(
        "acme", BudgetPeriod.DAY, 100, 40, datetime(2027, 1, 1, tzinfo=UTC)
    )


def test_what_is_only_set_aside_may_be_free_again_soon() -> None:
    caps = [("acme", SpendingCaps(day=100, month=None)), (ALL, NO_CAPS)]
    assert refusal(Charge("acme", DAY, 40), taken(reserved=50, acme_day=10), caps) is None
    assert refusal(Charge("acme", DAY, 41), taken(reserved=50, acme_day=10), caps) == BudgetReserved(
        "acme", BudgetPeriod.DAY
    )
    assert isinstance(refusal(Charge("acme", DAY, 41), taken(reserved=1, acme_day=60), caps), BudgetExhausted)


def test_of_two_full_caps_the_one_that_opens_last_says_when() -> None:
    day = date(2026, 2, 3)
    caps = [("acme", SpendingCaps(day=10, month=None)), (ALL, SpendingCaps(day=None, month=20))]
    refused = refusal(Charge("acme", day, 5), taken(acme_day=10, all_month=18), caps)
    assert isinstance(refused, BudgetExhausted)
    assert (refused.scope, refused.left, refused.next_begins) == (ALL, 2, datetime(2026, 3, 1, tzinfo=UTC))


def test_what_no_period_has_room_for_is_not_told_to_wait() -> None:
    caps = [("acme", SpendingCaps(day=10, month=100)), (ALL, NO_CAPS)]
    assert refusal(Charge("acme", DAY, 11), taken(), caps) == BudgetTooSmall("acme", BudgetPeriod.DAY, 10)


def test_what_costs_nothing_passes_a_full_cap_but_not_the_switch() -> None:
    full = [("acme", SpendingCaps(day=10, month=None)), (ALL, NO_CAPS)]
    assert refusal(Charge("acme", DAY, 0), taken(acme_day=50), full) is None
    stopped = [("acme", NO_CAPS), (ALL, SpendingCaps(None, None, stopped="a leak"))]
    assert refusal(Charge("acme", DAY, 0), taken(), stopped) == SpendingStopped(ALL, "a leak")
