"""What may become of a receipt: pure decisions, with times from the database's clock.

    ready --arm--> armed --answered--> ready (the next step) … confirmed
                   armed --not sent--> ready        armed --refused--> refused, or in_doubt after a lost answer
                   armed --no answer, or its lease is over--> unknown
    unknown --close, wait, look--> found: as answered | absent: ready | unclear, or nothing to look with: in_doubt
    any of them --the account is connected as another user--> in_doubt, if anything of it may be there
    in_doubt --a person confirms--> as answered       in_doubt --a person has it repeated--> ready

Whoever takes a receipt up gets a higher fence than everybody before, and holds it until its lease is over. An answer that comes
late is believed as long as nothing else has been sent since: it knows better than any look-up.
"""

from receipts.domain.decisions import DecidedOtherwiseError, confirm, give_up, repeat
from receipts.domain.events import (
    MAX_LOOKS,
    Answered,
    Closed,
    Event,
    HeldBack,
    Lost,
    NotLooked,
    Overtaken,
    Questioned,
    SeenAbsent,
    SeenThere,
    TurnedDown,
    Unsure,
    decide,
)
from receipts.domain.moves import Close, Doubt, Identify, Look, Move, Over, Send, Wait, take_up
from receipts.domain.receipt import Receipt, State, Traits, asked_anew, doubted, has_settled, suspected

__all__ = [
    "MAX_LOOKS",
    "Answered",
    "Close",
    "Closed",
    "DecidedOtherwiseError",
    "Doubt",
    "Event",
    "HeldBack",
    "Identify",
    "Look",
    "Lost",
    "Move",
    "NotLooked",
    "Over",
    "Overtaken",
    "Questioned",
    "Receipt",
    "SeenAbsent",
    "SeenThere",
    "Send",
    "State",
    "Traits",
    "TurnedDown",
    "Unsure",
    "Wait",
    "asked_anew",
    "confirm",
    "decide",
    "doubted",
    "give_up",
    "has_settled",
    "repeat",
    "suspected",
    "take_up",
]
