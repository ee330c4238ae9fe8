"""The gateway's problem codes; `chassis.http.problem_codes` has those of all APIs.

They are also the `type` of each problem, for older clients.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode

_MEANINGS: Final[Mapping[tuple[HTTPStatus, ...], Mapping[str, str]]] = {
    (HTTPStatus.CONFLICT,): {
        "call.fenced": "Another process has taken the receipt over.",
        "moves.forgotten": "The accounts were handed over too long ago.",
        "moves.other_brand": "The move is another brand's.",
        "moves.renewing": "A token of the brand is being renewed; the same may be tried again.",
    },
    (HTTPStatus.FAILED_DEPENDENCY,): {
        "account.login_failed": "The provider gave no tokens for the log-in.",
        "account.login_refused": "The provider refused the log-in.",
        "account.needs_reconnecting": "The account takes no requests until it is connected again.",
        "account.no_app": "The provider does not know this installation yet.",
        "account.no_login": "Accounts of this kind are connected by credentials, without a log-in.",
        "account.other_identity": "The account is connected as another user than at the beginning of this effect.",
        "account.state_unknown": "The log-in was used already, is too old, or was begun for another account.",
        "call.no_answer": "The outcome of the request is unknown.",
        "credentials.no_keys": "`GATEWAY_KEYS` is not set.",
        "credentials.sealed": "None of `GATEWAY_KEYS` opens the credentials.",
        "moves.no_key": "`MOVES_KEY` is not set, so no accounts are handed over.",
        "provider.key_refused": "The provider refuses the key.",
        "provider.no_answer": "The provider broke off or did not answer in time; the call counts as spent.",
        "provider.quota_exhausted": "The plan or the credit at the provider is used up.",
        "provider.unusable_answer": "The provider does not answer as documented.",
        "sign_in.provider_unusable": "The identity provider cannot be used as it is configured.",
    },
    (HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.NOT_FOUND): {
        "account.not_connected": "No such account is connected for the brand; 404 where the account itself was asked for.",
    },
    (HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY): {
        "provider.not_connected": "The provider is not connected; 404 where the provider itself was asked for, 422 where it does something else.",
    },
    (HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.UNPROCESSABLE_ENTITY): {
        "page.broken_off": "The site broke off in the midst of its answer.",
        "page.busy": "Too many pages are being read at once.",
        "page.name_lookup": "The name of the site cannot be looked up now.",
        "page.site_failed": "The site failed.",
        "page.timeout": "The site did not answer in time.",
        "page.unreachable": "The site cannot be reached.",
    },
    (HTTPStatus.FORBIDDEN,): {
        "sign_in.refused": "What the identity provider answered signs nobody in.",
    },
    (HTTPStatus.INTERNAL_SERVER_ERROR,): {
        "gateway.failed": "The gateway failed; its log has the reason.",
    },
    (HTTPStatus.NOT_FOUND,): {
        "moves.unknown": "No accounts are expected of this move.",
        "sign_in.not_configured": "No identity provider is configured.",
    },
    (HTTPStatus.PAYMENT_REQUIRED,): {
        "budget.exhausted": "The budget of the day or month is used up.",
        "budget.set_aside": "The rest of the budget is set aside for calls under way.",
        "spending.stopped": "An operator has stopped spending.",
    },
    (HTTPStatus.SERVICE_UNAVAILABLE,): {
        "call.not_sent": "Nothing was sent; the same may be sent again.",
        "mail.later": "The mail server does not take the mail now.",
        "provider.away": "The provider cannot be reached, or failed over this request.",
        "sign_in.provider_away": "The identity provider does not answer.",
        "provider.failing": "The provider failed several times in a row, so requests to it pause.",
    },
    (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.CONFLICT): {
        "call.under_way": "An identical call is under way and takes long; 409 where a request of the receipt may still arrive.",
    },
    (HTTPStatus.TOO_MANY_REQUESTS,): {
        "limit.reached": "The rate limit of the provider or account leaves no turn in time.",
        "provider.limited": "The provider asked for a pause.",
    },
    (HTTPStatus.UNPROCESSABLE_ENTITY,): {
        "account.request_not_allowed": "The account does not allow this request.",
        "budget.too_small": "The call may cost more than any day or month has.",
        "cost.reached": "The call may cost more than its request has left.",
        "credentials.key_missing": "Give the key or the credentials again.",
        "key.used": "The `Idempotency-Key` was used for another call.",
        "mail.no_recipient": "The mail server takes mail for none of the addresses, for good.",
        "mail.refused": "The mail server does not take the mail.",
        "model.content_filtered": "The provider's content filter refuses the request.",
        "model.context_too_long": "The request is longer than the model can read.",
        "moves.sealed": "The accounts cannot be decrypted.",
        "moves.unusable": "An account does not fit this installation.",
        "page.not_configured": "No page is read before `ROBOT_ABOUT` is set.",
        "provider.refused_request": "The provider does not take this request.",
        "request.too_many_tokens": "The request asks for more tokens than the model may write.",
    },
    (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.FAILED_DEPENDENCY): {
        "provider.private_address": "The address of the provider is private, and no setting of the operator names it.",
        "page.address": "Pages cannot be read from this address.",
        "page.certificate": "The certificate of the site is not trusted.",
        "page.encoding": "The page's encoding is not supported.",
        "page.media_type": "The page's media type is not supported.",
        "page.no_page": "There is no page at the address.",
        "page.port": "Pages are read from the ports 80 and 443 alone.",
        "page.private_address": "The address is private.",
        "page.redirects": "The site redirects too often.",
        "page.robots": "The site does not want robots to read the page.",
        "page.too_large": "The page is too large.",
        "page.unknown_host": "There is no such site.",
    },
}
"""By status; a code's further statuses follow its first."""

ALL: Final = tuple(
    ProblemCode(code, meaning, status, type=code, also=tuple(also))
    for (status, *also), meanings in _MEANINGS.items()
    for code, meaning in meanings.items()
)
