"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode, listed_codes

UNKNOWN_DEAD_LETTER = ProblemCode(
    "unknown_dead_letter", HTTPStatus.NOT_FOUND, "There is no such dead letter."
)
DEAD_LETTER_NOT_READY = ProblemCode(
    "dead_letter_not_ready", HTTPStatus.CONFLICT, "The state of the dead letter does not allow this."
)
DEAD_LETTER_UNSUITABLE = ProblemCode(
    "dead_letter_unsuitable",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "This dead letter never allows this.",
)
UNKNOWN_NOTIFICATION_ROUTE = ProblemCode(
    "unknown_notification_route", HTTPStatus.NOT_FOUND, "There is no notification route of this name."
)
UNKNOWN_NOTIFICATION = ProblemCode(
    "unknown_notification", HTTPStatus.NOT_FOUND, "There is no such notification."
)
TOO_MANY_NOTIFICATION_ROUTES = ProblemCode(
    "too_many_notification_routes",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The number of notification routes has reached its limit.",
)
UNUSABLE_ACCOUNT = ProblemCode(
    "unusable_account",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The account cannot send notifications; `detail` says why.",
)
GATEWAY_NOT_CONFIGURED = ProblemCode(
    "gateway_not_configured",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "This needs a gateway, and none is configured.",
)
ACCOUNT_NOT_CHECKED = ProblemCode(
    "account_not_checked",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "The gateway did not answer, so the account was not checked; try again.",
)

ALL: Final = listed_codes(globals())
