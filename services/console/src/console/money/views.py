"""Contents of the pages about money, made from the gateway's answers. Pure: no I/O, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from console.texts import Texts

ALL: Final = "*"
"""The gateway's name for all brands together."""
SPANS: Final = (14, 30, 90)
"""Numbers of days that a person can choose."""
MOST_BRANDS: Final = 100
MICROS: Final = 1_000_000
_CENTS: Final = Decimal("0.01")
_FINEST: Final = Decimal("0.000001")
_BAR: Final = 10
_HEIGHT: Final = 100


def dollars(micros: int, t: Texts) -> str:
    """Writes micro-dollars: whole cents from a dollar on, below it as much as there is. Never rounded down."""
    amount = Decimal(micros) / MICROS
    amount = amount.quantize(_CENTS if amount >= 1 else _FINEST, ROUND_CEILING)
    whole, _, part = f"{amount:,f}".partition(".")
    written = f"{whole}.{part[:2]}{part[2:].rstrip('0')}"
    if t.language == "de":
        written = written.translate({ord(","): ".", ord("."): ","})
    return t("money.amount", amount=written)


def typed_dollars(typed: str) -> str | None:
    """The amount of a form for the gateway, which checks it; None for an empty field."""
    if "," in typed and "." not in typed:
        typed = typed.replace(",", ".")
    return typed or None


def plain_dollars(micros: int | None) -> str:
    """An amount as a form field has it; empty for no cap."""
    return "" if micros is None else f"{Decimal(micros) / MICROS:f}"


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of the chart and of its table."""

    day: date
    spent: int
    presumed: int
    calls: int
    providers: tuple[tuple[str, int], ...]
    """What each provider cost."""
    x: int
    y: int
    height: int
    """In a drawing that is a hundred high."""


@dataclass(frozen=True, slots=True)
class Chart:
    bars: tuple[Bar, ...]
    """One for each day, the oldest first."""
    width: int
    highest: int
    """The most that was spent on a day."""
    spent: int
    presumed: int


def chart(answer: Mapping[str, Any]) -> Chart:
    """Draws what was spent by day; days without calls are empty."""
    first, today = (date.fromisoformat(answer[name]) for name in ("begins", "today"))
    by_day: dict[date, list[Mapping[str, Any]]] = {}
    for each in answer["items"]:
        by_day.setdefault(date.fromisoformat(each["day"]), []).append(each)
    sums = {day: sum(each["spent"] for each in items) for day, items in by_day.items()}
    highest = max(sums.values(), default=0)
    bars = tuple(
        _bar(first + timedelta(days=place), place, by_day, highest)
        for place in range((today - first).days + 1)
    )
    return Chart(
        bars,
        len(bars) * _BAR,
        highest,
        sum(sums.values()),
        sum(each["presumed"] for each in answer["items"]),
    )


def _bar(day: date, place: int, by_day: Mapping[date, Sequence[Mapping[str, Any]]], highest: int) -> Bar:
    items = by_day.get(day, ())
    spent = sum(each["spent"] for each in items)
    # What cost anything is seen.
    height = max(2, round(spent * _HEIGHT / highest)) if spent else 0
    return Bar(
        day,
        spent,
        sum(each["presumed"] for each in items),
        sum(each["calls"] for each in items),
        tuple((each["provider"], each["spent"]) for each in items),
        place * _BAR,
        _HEIGHT - height,
        height,
    )


@dataclass(frozen=True, slots=True)
class Spender:
    """A brand, or all together, with what it spent and may spend."""

    scope: str
    day: Mapping[str, Any]
    month: Mapping[str, Any]
    stopped: str | None


def spender_of(answer: Mapping[str, Any], scope: str) -> Spender | None:
    found = next((each for each in answer["scopes"] if each["scope"] == scope), None)
    return None if found is None else Spender(scope, found["day"], found["month"], found["stopped"])


def spenders(answer: Mapping[str, Any], text: str) -> tuple[Spender, ...]:
    """The brands with the text in their name, the greatest spenders of this month first."""
    found = [
        Spender(each["scope"], each["day"], each["month"], each["stopped"])
        for each in answer["scopes"]
        if each["scope"] != ALL and text.casefold() in each["scope"]
    ]
    return tuple(sorted(found, key=lambda each: (-each.month["spent"], each.scope)))


def share(period: Mapping[str, Any]) -> int:
    """How much of a cap is spent or set aside, in percent; 0 without a cap."""
    cap = period["cap"]
    taken = period["spent"] + period["reserved"]
    if cap is None:
        return 0
    return min(100, round(taken * 100 / cap)) if cap else 100


@dataclass(frozen=True, slots=True)
class ProviderCost:
    provider: str
    calls: int
    spent: int


def by_provider(providers: Iterable[Mapping[str, Any]]) -> tuple[ProviderCost, ...]:
    """What each provider cost this month, for all brands of the answer together; the dearest first."""
    sums: dict[str, ProviderCost] = {}
    for each in providers:
        so_far = sums.get(each["provider"], ProviderCost(each["provider"], 0, 0))
        sums[each["provider"]] = ProviderCost(
            so_far.provider, so_far.calls + each["calls"], so_far.spent + each["spent"]
        )
    return tuple(sorted(sums.values(), key=lambda each: (-each.spent, each.provider)))
