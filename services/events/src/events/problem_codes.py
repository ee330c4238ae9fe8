"""Problem codes of this service; `chassis.http.problem_codes` has those that all APIs share."""

from typing import Final

from chassis.http.problem_codes import (
    conflict,
    forbidden,
    listed_codes,
    not_found,
    unavailable,
    unprocessable,
)

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
UNKNOWN_WEBHOOK = not_found("unknown_webhook", "The brand has no such webhook.")
UNKNOWN_WEBHOOK_DELIVERY = not_found(
    "unknown_webhook_delivery", "The webhook has no such delivery; they are kept for 30 days."
)
TOO_MANY_WEBHOOKS = unprocessable("too_many_webhooks", "The brand has as many webhooks as one may have.")
RESEND_UNDER_WAY = conflict("resend_under_way", "Other events of the webhook are being sent again now.")
UNUSABLE_WEBHOOK_ACCOUNT = unprocessable(
    "unusable_webhook_account", "The webhook cannot send by this account; `detail` says why."
)
WEBHOOKS_NOT_CONFIGURED = unprocessable(
    "webhooks_not_configured", "Webhooks need a gateway, and none is configured."
)
WEBHOOK_ACCOUNT_NOT_CHECKED = unavailable(
    "webhook_account_not_checked", "The gateway did not answer; nothing was changed or sent, try again."
)
UNKNOWN_HOOK = not_found("unknown_hook", "There is no such incoming webhook.")
TOO_MANY_HOOKS = unprocessable("too_many_hooks", "The brand has as many incoming webhooks as one may have.")
HOOK_OF_ANOTHER_KIND = conflict("hook_of_another_kind", "The kind of an incoming webhook cannot be changed.")
SIGNATURE_INVALID = forbidden(
    "signature_invalid", "The request to an incoming webhook does not prove who sent it; `detail` says why."
)
HOOK_STALE = forbidden("hook_stale", "The request to an incoming webhook was signed too long ago.")
BODY_NOT_MAPPED = unprocessable(
    "body_not_mapped", "The hook's definition cannot make a command of the body; `detail` says why."
)
TOO_MANY_STREAMS = unavailable("too_many_streams", "As many live streams are open as the process takes.")

ALL: Final = listed_codes(globals())
