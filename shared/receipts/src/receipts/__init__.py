"""Effects on other people's servers, which no transaction covers: each once, or none with a visible doubt.

See `docs/receipts.md`.
"""

from receipts.accounts import Account, Answer, Content, Part
from receipts.clocks import ClockOffset
from receipts.domain import DecidedOtherwiseError, Receipt, State
from receipts.door import Connected, Door
from receipts.effects import Absent, Effect, Found, InDoubt, Performed, Step, Unclear, Work
from receipts.errors import (
    DoubtfulOutcome,
    EffectRefused,
    GatewayAway,
    NotSent,
    NotSentYet,
    Refused,
    UnknownOutcome,
)
from receipts.performing import Receipts, UnknownReceiptError
from receipts.routes import serve_receipts
from receipts.store import counts, forget, remotes

__all__ = [
    "Absent",
    "Account",
    "Answer",
    "ClockOffset",
    "Connected",
    "Content",
    "DecidedOtherwiseError",
    "Door",
    "DoubtfulOutcome",
    "Effect",
    "EffectRefused",
    "Found",
    "GatewayAway",
    "InDoubt",
    "NotSent",
    "NotSentYet",
    "Part",
    "Performed",
    "Receipt",
    "Receipts",
    "Refused",
    "State",
    "Step",
    "Unclear",
    "UnknownOutcome",
    "UnknownReceiptError",
    "Work",
    "counts",
    "forget",
    "remotes",
    "serve_receipts",
]
