"""The review of drafts and posts as one state machine. Pure: no I/O, no clock, no randomness.

`machine.decide` takes an item (`items`) and a decision (`decisions`), and returns the item after it with its `effects`, or a
refusal; `rules` has the table of each kind of item.
"""
