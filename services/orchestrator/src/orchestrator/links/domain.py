"""What an answer says of a link. Pure: no I/O, no clock, no randomness."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final

APART: Final = timedelta(days=3)
"""Two looks that are nearer to each other belong to one round."""
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
MAX_DETAIL: Final = 300


class LinkKind(StrEnum):
    PAGE = "page"
    """The brand's own, which everybody should see."""
    SOURCE = "source"
    """Of somebody else."""


class ProbeOutcome(StrEnum):
    THERE = "there"
    GONE = "gone"
    """404 or 410: whoever has the address says so himself."""
    UNSURE = "unsure"
    """No answer, another status, or nobody may ask."""


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    outcome: ProbeOutcome
    detail: str = ""
    """Of one that is not there."""


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """How a link answered, and since when it has answered so."""

    outcome: ProbeOutcome
    detail: str
    since: datetime
    rounds: int
    looked_at: datetime


def answered(who: str, status: int) -> ProbeAnswer:
    """What a status means; that of a redirect is of no interest, as where it leads was asked, too, or is no matter."""
    if status < HTTPStatus.BAD_REQUEST:
        return ProbeAnswer(ProbeOutcome.THERE)
    outcome = ProbeOutcome.GONE if status in _GONE else ProbeOutcome.UNSURE
    return ProbeAnswer(outcome, f"{who} answered {status}")


def together(inside: ProbeAnswer | None, outside: ProbeAnswer | None) -> ProbeAnswer:
    """Of a brand's own page: what the publisher itself says, and what the public internet says of its address.

    From outside nothing may be known, as of an address that is not public; the publisher's word holds then.
    """
    if inside is not None and inside.outcome is not ProbeOutcome.THERE:
        return inside
    if outside is not None and (inside is None or outside.outcome is ProbeOutcome.GONE):
        return outside
    return inside or ProbeAnswer(ProbeOutcome.UNSURE, "nobody could be asked")


def judge(before: LinkStatus | None, answer: ProbeAnswer, now: datetime) -> LinkStatus:
    """How the link stands after an answer. The same answer twice within a round counts once."""
    detail = answer.detail[:MAX_DETAIL]
    if before is None or before.outcome is not answer.outcome:
        return LinkStatus(answer.outcome, detail, now, 1, now)
    if now - before.looked_at < APART:
        return replace(before, detail=detail)
    return replace(before, detail=detail, rounds=before.rounds + 1, looked_at=now)
