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
