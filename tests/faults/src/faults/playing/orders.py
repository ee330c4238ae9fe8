"""Faults of outside servers for single requests, by the requests' addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakes import Kind, Request
from fakes.serving.faults import Fault, Faults

_HEADER = "prefer"


@dataclass(slots=True)
class FaultsByAddress(Faults):
    """Strikes a request with the fault in `by_address`, the first time only; see `faults.workers.outside.address`."""

    by_address: dict[str, Fault] = field(default_factory=dict)
    struck: set[str] = field(default_factory=set)
    """Addresses that met theirs."""

    def order(self, address: str, kind: Kind, status: int = 503, *, seconds: float = 1.0) -> None:
        self.by_address[address] = Fault(kind, status=status, seconds=seconds)

    def strike(self, request: Request) -> Fault | None:
        address = request.headers.get(_HEADER, "")
        fault = self.by_address.pop(address, None)
        if fault is None:
            return Faults.strike(self, request)
        self.struck.add(address)
        fault.fired += 1
        return fault


def named(request: Request) -> Mapping[str, str] | None:
    """Splits an address into `post`, `doing`, `number` and `step`; None if it belongs to no post."""
    parts = request.headers.get(_HEADER, "").split("/", 3)
    return dict(zip(("post", "doing", "number", "step"), parts, strict=True)) if len(parts) == 4 else None
