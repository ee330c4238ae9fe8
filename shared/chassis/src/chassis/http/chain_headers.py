"""The chain that work belongs to, in requests to other services: two headers, and the context that they come from and go to.

A handler of messages runs in the context of its message's chain, so each request that it makes names that chain. Tracing, which
also names it, may be off or leave a chain out.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

CHAIN: Final = "Chain-Id"
"""The `correlation_id`, percent-encoded."""
MAX_COST: Final = "Chain-Max-Cost"
"""What the paid calls of the chain may cost together, in micro-dollars."""
MAX_LENGTH: Final = 200
"""Characters of a `correlation_id`."""
_MAX_DIGITS: Final = 13


@dataclass(frozen=True, slots=True)
class ChainContext:
    """The chain that the running work belongs to."""

    id: str
    max_cost: int | None = None
    """Micro-dollars; None: no limit."""


_current: ContextVar[ChainContext | None] = ContextVar("chain", default=None)


def current() -> ChainContext | None:
    """Return the chain of the running task; None if it belongs to none."""
    return _current.get()


@contextmanager
def within(chain: ChainContext | None) -> Iterator[None]:
    """Run the block, and the tasks that begin in it, as work of this chain."""
    token = _current.set(chain)
    try:
        yield
    finally:
        _current.reset(token)


def outgoing() -> dict[str, str]:
    """Return the headers that name the current chain; empty without one."""
    chain = _current.get()
    if chain is None:
        return {}
    headers = {CHAIN: quote(chain.id, safe="")}
    if chain.max_cost is not None:
        headers[MAX_COST] = str(chain.max_cost)
    return headers


def incoming(headers: Mapping[str, str]) -> ChainContext | None:
    """Read the chain of a request.

    Raises:
        ValueError: a header cannot be understood; the message says which.
    """
    written, cost = headers.get(CHAIN), headers.get(MAX_COST)
    if not written:
        if cost:
            raise ValueError(f"{MAX_COST}: belongs to {CHAIN}, which is missing")
        return None
    name = unquote(written, errors="replace")
    if len(name) > MAX_LENGTH or "\x00" in name:
        raise ValueError(f"{CHAIN}: must have at most {MAX_LENGTH} characters, without U+0000")
    if cost is None:
        return ChainContext(name)
    if not (cost.isascii() and cost.isdigit() and len(cost) <= _MAX_DIGITS):
        raise ValueError(f"{MAX_COST}: must be a whole number of micro-dollars")
    return ChainContext(name, int(cost))
