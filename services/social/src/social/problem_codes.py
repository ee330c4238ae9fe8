"""The codes of this service's refusals; those that all APIs share are in `chassis.http.problem_codes`."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

UNKNOWN_POST = ProblemCode("unknown_post", HTTPStatus.NOT_FOUND, "There is no such post.")
UNKNOWN_VERSION = ProblemCode("unknown_version", HTTPStatus.NOT_FOUND, "The article has no such version.")
UNKNOWN_ENTRY = ProblemCode("unknown_entry", HTTPStatus.NOT_FOUND, "The calendar has no such entry.")
UNKNOWN_CHANNEL = ProblemCode(
    "unknown_channel", HTTPStatus.NOT_FOUND, "There is no such channel on which posts can be sent."
)
NOT_REPEATED = ProblemCode("not_repeated", HTTPStatus.NOT_FOUND, "The article is not posted again.")
NO_SLOTS = ProblemCode("no_slots", HTTPStatus.NOT_FOUND, "The account has no slots for the brand.")
FEED_HAS_NO_SLOTS = ProblemCode(
    "feed_has_no_slots", HTTPStatus.UNPROCESSABLE_ENTITY, "The built-in feed has no slots."
)
SLOTS_IN_QUIET_HOURS = ProblemCode(
    "slots_in_quiet_hours", HTTPStatus.UNPROCESSABLE_ENTITY, "All slots lie within the quiet hours."
)
TOO_MANY_ACCOUNTS = ProblemCode(
    "too_many_accounts", HTTPStatus.CONFLICT, "The brand has slots on as many accounts as it may."
)
NOT_MOVABLE = ProblemCode("not_movable", HTTPStatus.CONFLICT, "The state of the post does not allow this.")
PAST_TIME = ProblemCode("past_time", HTTPStatus.UNPROCESSABLE_ENTITY, "The time has gone by.")
DECIDED_OTHERWISE = ProblemCode(
    "decided_otherwise", HTTPStatus.CONFLICT, "Somebody else has decided meanwhile."
)
UNUSABLE_TEXT = ProblemCode(
    "unusable_text", HTTPStatus.UNPROCESSABLE_ENTITY, "The text cannot be used; `detail` says why."
)
INVALID_RULE = ProblemCode(
    "invalid_rule", HTTPStatus.UNPROCESSABLE_ENTITY, "The channel does not do what the rule says."
)

ALL: Final = listed_codes(globals())
