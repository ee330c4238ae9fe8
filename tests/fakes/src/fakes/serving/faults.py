"""Faults to inject, and the requests that they concern."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias, get_args

from fakes.serving.exchange import Request

Kind: TypeAlias = Literal[
    "reset_before", "reset_after", "cut_after", "error_before", "error_after", "limited", "expired",
    "hang_before", "hang_after", "late",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(slots=True)
class Fault:
    """Strikes requests like `match`, the next `times` of them after `skip`; None: until it is taken away.

    `share`: of those requests, by chance; `times` counts those that it struck. `status`: of `error_before` and `error_after`.
    `seconds`: `late` does what was asked for so long afterwards.
    """

    kind: Kind
    match: str = "*"
    times: int | None = 1
    skip: int = 0
    share: float = 1.0
    status: int = 503
    seconds: float = 1.0
    fired: int = 0

    def concerns(self, request: Request) -> bool:
        return fnmatchcase(f"{request.method} {request.path}", self.match)


@dataclass(slots=True)
class Faults:
    """`*` in `match` stands for anything: `"POST /2/tweets"`, `"* /2/*"`. Of two that concern a request the earlier strikes.

    What each kind does:

    `reset_before`, `reset_after`   the connection is reset, with nothing done, or with all of it done and no answer
    `cut_after`      done; the connection is reset in the midst of the answer
    `error_before`, `error_after`   an answer of the kind 5xx, with nothing done, or with all of it done
    `limited`        nothing is done; "too many requests" as this provider says it
    `expired`        nothing is done; "this token is valid no more" as this provider says it
    `hang_before`, `hang_after`     no answer ever comes, with nothing done, or with all of it done
    `late`           no answer ever comes, and what was asked for is done some seconds later
    """

    seed: int = 0
    planned: list[Fault] = field(default_factory=list)
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def inject(
        self,
        kind: Kind,
        match: str = "*",
        *,
        times: int | None = 1,
        skip: int = 0,
        share: float = 1.0,
        status: int = 503,
        seconds: float = 1.0,
    ) -> Fault:
        """Returns the fault, which counts in `fired` the requests that it struck."""
        if kind not in KINDS:
            raise ValueError(f"there is no fault {kind!r}; choose among {', '.join(KINDS)}")
        fault = Fault(kind, match, times, skip, share, status, seconds)
        self.planned.append(fault)
        return fault

    def clear(self) -> None:
        self.planned.clear()

    def strike(self, request: Request) -> Fault | None:
        """The fault that this request meets, counted."""
        for fault in self.planned:
            if fault.times == fault.fired or not fault.concerns(request):
                continue
            if fault.skip:
                fault.skip -= 1
            elif fault.share >= 1 or self._chance.random() < fault.share:
                fault.fired += 1
                return fault
        return None

    def told(self) -> list[Mapping[str, Any]]:
        return [
            {"kind": fault.kind, "match": fault.match, "times": fault.times, "fired": fault.fired}
            for fault in self.planned
        ]
