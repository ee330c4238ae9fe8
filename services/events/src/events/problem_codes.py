"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from typing import Final

from chassis.http.problem_codes import conflict, listed_codes, not_found, unavailable, unprocessable

UNKNOWN_SUBSCRIPTION = not_found("unknown_subscription", "There is no such subscription.")
SUBSCRIPTION_TAKEN = conflict(
    "subscription_taken", "There is a subscription of this name already, for other events."
)
EVENTS_FORGOTTEN = conflict(
    "events_forgotten", "Events that follow the given place are forgotten; the reader has missed some."
)
UNKNOWN_EVENT_PLACE = conflict(
    "unknown_event_place",
    "The log has no such place yet: it was restored from a backup, or the place is wrong.",
)
UNKNOWN_EVENT_TYPE = unprocessable("unknown_event_type", "There is no such type of events.")
TOO_MANY_STREAMS = unavailable("too_many_streams", "As many live streams are open as the process takes.")

ALL: Final = listed_codes(globals())
