"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from typing import Final

from chassis.http.problem_codes import conflict, listed_codes, not_found, unavailable, unprocessable

UNKNOWN_DEAD_LETTER = not_found("unknown_dead_letter", "There is no such dead letter.")
DEAD_LETTER_NOT_READY = conflict("dead_letter_not_ready", "The state of the dead letter does not allow this.")
DEAD_LETTER_UNSUITABLE = unprocessable("dead_letter_unsuitable", "This dead letter never allows this.")
UNKNOWN_NOTIFICATION_ROUTE = not_found(
    "unknown_notification_route", "There is no notification route of this name."
)
UNKNOWN_NOTIFICATION = not_found("unknown_notification", "There is no such notification.")
TOO_MANY_NOTIFICATION_ROUTES = unprocessable(
    "too_many_notification_routes", "The number of notification routes has reached its limit."
)
UNUSABLE_ACCOUNT = unprocessable(
    "unusable_account", "The account cannot send notifications; `detail` says why."
)
GATEWAY_NOT_CONFIGURED = unprocessable(
    "gateway_not_configured", "This needs a gateway, and none is configured."
)
ACCOUNT_NOT_CHECKED = unavailable(
    "account_not_checked", "The gateway did not answer, so the account was not checked; try again."
)

ALL: Final = listed_codes(globals())
