"""Effects on outside servers, which no transaction covers: each happens once, or a person decides about a doubt.

See `docs/receipts.md`.
"""

from receipts.accounts import AccountClient, AccountResponse, Content, Part
from receipts.clocks import ClockOffset
from receipts.domain.decisions import ReceiptDecidedError
from receipts.domain.receipt import Receipt, ReceiptState
from receipts.effects import (
    Effect,
    EffectAbsent,
    EffectFound,
    EffectInDoubt,
    EffectPerformed,
    EffectUnclear,
    Step,
    StepInHand,
)
from receipts.errors import (
    DoubtfulOutcome,
    EffectRefused,
    GatewayAway,
    NotSent,
    NotSentYet,
    Refused,
    UnknownOutcome,
)
from receipts.gateway import AccountSummary, EffectsGateway
from receipts.performing import Receipts, UnknownReceiptError
from receipts.routes import serve_receipts
from receipts.store import counts, forget, remotes

__all__ = [
    "AccountClient",
    "AccountResponse",
    "AccountSummary",
    "ClockOffset",
    "Content",
    "DoubtfulOutcome",
    "Effect",
    "EffectAbsent",
    "EffectFound",
    "EffectInDoubt",
    "EffectPerformed",
    "EffectRefused",
    "EffectUnclear",
    "EffectsGateway",
    "GatewayAway",
    "NotSent",
    "NotSentYet",
    "Part",
    "Receipt",
    "ReceiptDecidedError",
    "ReceiptState",
    "Receipts",
    "Refused",
    "Step",
    "StepInHand",
    "UnknownOutcome",
    "UnknownReceiptError",
    "counts",
    "forget",
    "remotes",
    "serve_receipts",
]
