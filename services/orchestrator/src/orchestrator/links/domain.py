"""Rates the answers of links over time. Pure: no I/O, no clock, no randomness."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final

APART: Final = timedelta(days=3)
"""Two checks within this time belong to one round."""
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
MAX_DETAIL: Final = 300


class LinkKind(StrEnum):
    PAGE = "page"
    """A page of the brand."""
    SOURCE = "source"
    """An external source."""


class ProbeOutcome(StrEnum):
    THERE = "there"
    GONE = "gone"
    """404 or 410: the site itself says so."""
    UNSURE = "unsure"
    """No answer, another status, or robots.txt forbids the request."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    outcome: ProbeOutcome
    detail: str = ""
    """The problem, if there is one."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """The state of a link, and since when it has been so."""

    outcome: ProbeOutcome
    detail: str
    since: datetime
    rounds: int
    looked_at: datetime


def answered(who: str, status: int) -> ProbeAnswer:
    """Rates an HTTP status; redirects count as an answer, because the gateway has followed them."""
    if status < HTTPStatus.BAD_REQUEST:
        return ProbeAnswer(ProbeOutcome.THERE)
    outcome = ProbeOutcome.GONE if status in _GONE else ProbeOutcome.UNSURE
    return ProbeAnswer(outcome, f"{who} answered {status}")


def together(inside: ProbeAnswer | None, outside: ProbeAnswer | None) -> ProbeAnswer:
    """Combines the publisher's answer about a brand's page with that from the internet.

    From outside the answer may be unknown, as for an address that is not public; the publisher's answer counts then.
    """
    if inside is not None and inside.outcome is not ProbeOutcome.THERE:
        return inside
    if outside is not None and (inside is None or outside.outcome is ProbeOutcome.GONE):
        return outside
    return inside or ProbeAnswer(ProbeOutcome.UNSURE, "neither the publisher nor the gateway could be asked")


def update_status(before: LinkStatus | None, answer: ProbeAnswer, now: datetime) -> LinkStatus:
    """Returns the link's state after an answer. The same answer twice within a round counts once."""
    detail = answer.detail[:MAX_DETAIL]
    if before is None or before.outcome is not answer.outcome:
        return LinkStatus(answer.outcome, detail, now, 1, now)
    if now - before.looked_at < APART:
        return replace(before, detail=detail)
    return replace(before, detail=detail, rounds=before.rounds + 1, looked_at=now)
