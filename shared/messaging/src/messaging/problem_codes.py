"""Problem codes of the routes of this library."""

from typing import Final

from chassis.http.problem_codes import conflict, listed_codes, not_found, unprocessable

UNKNOWN_MESSAGE = not_found("unknown_message", "The service has dead-lettered no such message.")
MESSAGE_EDITED = conflict(
    "message_edited", "The dead letter was edited already; `detail` says by whom and when."
)
MESSAGE_REPLAYED = conflict("message_replayed", "The dead letter was replayed, or a replay of it waits.")
MESSAGE_NOT_EDITABLE = unprocessable(
    "message_not_editable", "The dead letter can never be edited; `detail` says why."
)
UNKNOWN_PART = not_found("unknown_part", "The service has no such part of a brand.")
BRAND_HAS_DATA = conflict("brand_has_data", "The brand has data here that are not of this import.")
BRAND_HAS_LEFT = conflict("brand_has_left", "The brand has moved, or moves, to another installation.")
ROWS_COLLIDE = conflict("rows_collide", "A row of the import is here already, and is not of this import.")
ROWS_NOT_STORABLE = unprocessable(
    "rows_not_storable", "The database refuses a row of the import; `detail` says why."
)

ALL: Final = listed_codes(globals())
