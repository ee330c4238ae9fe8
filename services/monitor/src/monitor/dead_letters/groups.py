"""Like failures: same queue, reason, exception type and place in the code."""

from typing import Final

FACTS: Final = "d.queue, d.reason, d.exception_type, d.frame"
ID: Final = (
    "to_hex(hashtextextended(d.queue || chr(31) || d.reason || chr(31) || coalesce(d.exception_type, '') || chr(31)"
    " || coalesce(d.frame, ''), 0))"
)
"""What names a group, of a row `d`; as in the index dead_messages_open_by_group."""
