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

ALL: Final = listed_codes(globals())
