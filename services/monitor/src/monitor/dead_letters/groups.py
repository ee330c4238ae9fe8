"""Failure groups: dead letters with the same queue, reason, exception type and stack frame."""

from typing import Final

FACTS: Final = "d.queue, d.reason, d.exception_type, d.frame"
ID: Final = (
    "to_hex(hashtextextended(d.queue || chr(31) || d.reason || chr(31) || coalesce(d.exception_type, '') || chr(31)"
    " || coalesce(d.frame, ''), 0))"
)
"""SQL for the group id of a row `d`; the index dead_messages_open_by_group has the same expression."""
