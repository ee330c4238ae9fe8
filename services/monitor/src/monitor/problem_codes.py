"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import (
    ProblemCode,
    conflict,
    listed_codes,
    not_found,
    unavailable,
    unprocessable,
)

UNKNOWN_DEAD_LETTER = not_found("unknown_dead_letter", "There is no such dead letter.")
DEAD_LETTER_NOT_READY = conflict("dead_letter_not_ready", "The state of the dead letter does not allow this.")
DEAD_LETTER_UNSUITABLE = unprocessable("dead_letter_unsuitable", "This dead letter never allows this.")
DEAD_LETTER_SEARCH_TOO_SLOW = unprocessable(
    "dead_letter_search_too_slow",
    "The search for dead letters took too long; `detail` says how to narrow it.",
)
UNKNOWN_CANARY_REPLAY = not_found("unknown_canary_replay", "There is no such canary replay.")
UNKNOWN_DEAD_LETTER_OPERATION = not_found(
    "unknown_dead_letter_operation", "There is no such operation on dead letters."
)
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
MAIL_NOT_CONNECTED = unprocessable("mail_not_connected", "No mail server is connected for all brands.")
INVITATION_MAIL_REFUSED = unprocessable(
    "invitation_mail_refused", "The mail server does not take the mail; `detail` says why."
)
INVITATION_NOT_MAILED = unavailable(
    "invitation_not_mailed",
    "The mail server or the gateway did not answer; whether the mail went out is not known.",
)
TOO_MANY_INVITATION_MAILS = ProblemCode(
    "too_many_invitation_mails",
    "Too many invitations were mailed within an hour; again after `Retry-After`.",
    HTTPStatus.TOO_MANY_REQUESTS,
)

UNKNOWN_ALERT = not_found("unknown_alert", "No such alert fires.")
UNKNOWN_SILENCE = not_found("unknown_silence", "Alertmanager has no such silence.")
ALERTMANAGER_NOT_CONFIGURED = unprocessable(
    "alertmanager_not_configured", "This needs Alertmanager, and the monitor knows no address of it."
)
SILENCE_REFUSED = unprocessable(
    "silence_refused", "Alertmanager does not take the silence; `detail` says why."
)
ALERTS_NOT_READ = unavailable(
    "alerts_not_read", "Prometheus or Alertmanager did not answer; nothing was changed, try again."
)

BROKER_NOT_CONNECTED = unprocessable(
    "broker_not_connected",
    "This needs the management API of the broker, and the monitor knows no address of it.",
)
BROKER_USER_EXISTS = conflict("broker_user_exists", "The API key has a user at the broker already.")
UNKNOWN_BROKER_USER = not_found("unknown_broker_user", "The API key has no user at the broker.")
BROKER_NOT_ASKED = unavailable(
    "broker_not_asked", "The management API of the broker did not answer, or refused; `detail` says why."
)

ALL: Final = listed_codes(globals())
