"""The codes of this service's refusals; those that all APIs share are in `chassis.http.problem_codes`."""

from typing import Final

from chassis.http.problem_codes import conflict, listed_codes, not_found, unprocessable

UNKNOWN_POST = not_found("unknown_post", "There is no such post.")
UNKNOWN_VERSION = not_found("unknown_version", "The article has no such version.")
UNKNOWN_ENTRY = not_found("unknown_entry", "The calendar has no such entry.")
UNKNOWN_CHANNEL = not_found("unknown_channel", "There is no such channel on which posts can be sent.")
NOT_REPEATED = not_found("not_repeated", "The article is not posted again.")
NO_SLOTS = not_found("no_slots", "The account has no slots for the brand.")
FEED_HAS_NO_SLOTS = unprocessable("feed_has_no_slots", "The built-in feed has no slots.")
SLOTS_IN_QUIET_HOURS = unprocessable("slots_in_quiet_hours", "All slots lie within the quiet hours.")
TOO_MANY_ACCOUNTS = conflict("too_many_accounts", "The brand has slots on as many accounts as it may.")
NOT_MOVABLE = conflict("not_movable", "The state of the post does not allow this.")
PAST_TIME = unprocessable("past_time", "The time has gone by.")
DECIDED_OTHERWISE = conflict("decided_otherwise", "Somebody else has decided meanwhile.")
UNUSABLE_TEXT = unprocessable("unusable_text", "The text cannot be used; `detail` says why.")
INVALID_RULE = unprocessable("invalid_rule", "The channel does not do what the rule says.")

ALL: Final = listed_codes(globals())
