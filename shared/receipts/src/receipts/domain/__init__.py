"""The state machine of receipts: pure decisions, with times from the database's clock.

    ready --arm--> armed --answered--> ready (the next step) … confirmed
                   armed --not sent--> ready        armed --refused--> refused, or in_doubt after a lost answer
                   armed --no answer, or its lease is over--> unknown
    unknown --close, wait, look--> found: as answered | absent: ready | unclear, or no look-up: in_doubt
    any of them --the account is connected as another user--> in_doubt, if people may see an effect
    in_doubt --a person confirms--> as answered       in_doubt --a person repeats--> ready

A worker that claims a receipt gets a higher fence than all earlier ones, and holds it until its lease is over. A late answer counts
unless a later request was sent: it is more reliable than a look-up.
"""

from receipts.domain.decisions import ReceiptDecidedError, confirm, give_up, repeat
from receipts.domain.events import (
    MAX_LOOKS,
    EarlierSendsClosed,
    EffectNotSeen,
    EffectSeen,
    FenceOvertaken,
    LookUpFailed,
    LookUpUnclear,
    OutcomeUnknown,
    ReceiptEvent,
    StepAccepted,
    StepDoubtful,
    StepNotSent,
    StepRefused,
    decide,
)
from receipts.domain.moves import AskPerson, Close, Finish, Identify, LookUp, Move, Send, Wait, next_move
from receipts.domain.receipt import (
    Receipt,
    ReceiptState,
    StepTraits,
    has_settled,
    mark_in_doubt,
    mark_suspected,
    renew_request,
)

__all__ = [
    "MAX_LOOKS",
    "AskPerson",
    "Close",
    "EarlierSendsClosed",
    "EffectNotSeen",
    "EffectSeen",
    "FenceOvertaken",
    "Finish",
    "Identify",
    "LookUp",
    "LookUpFailed",
    "LookUpUnclear",
    "Move",
    "OutcomeUnknown",
    "Receipt",
    "ReceiptDecidedError",
    "ReceiptEvent",
    "ReceiptState",
    "Send",
    "StepAccepted",
    "StepDoubtful",
    "StepNotSent",
    "StepRefused",
    "StepTraits",
    "Wait",
    "confirm",
    "decide",
    "give_up",
    "has_settled",
    "mark_in_doubt",
    "mark_suspected",
    "next_move",
    "renew_request",
    "repeat",
]
