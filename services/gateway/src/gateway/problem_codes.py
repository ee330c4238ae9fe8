"""The gateway's problem codes; `chassis.http.problem_codes` has those of all APIs.

They are also the `type` of each problem, for older clients.
"""

from http import HTTPStatus
from typing import Final

from chassis.http.problem_codes import ProblemCode


def _code(code: str, status: HTTPStatus, meaning: str, *also: HTTPStatus) -> ProblemCode:
    return ProblemCode(code, status, meaning, type=code, also=also)


ALL: Final = (
    _code(
        "account.login_failed", HTTPStatus.FAILED_DEPENDENCY, "The provider gave no tokens for the log-in."
    ),
    _code("account.login_refused", HTTPStatus.FAILED_DEPENDENCY, "The provider refused the log-in."),
    _code(
        "account.needs_reconnecting",
        HTTPStatus.FAILED_DEPENDENCY,
        "The account takes no requests until it is connected again.",
    ),
    _code(
        "account.no_app", HTTPStatus.FAILED_DEPENDENCY, "The provider does not know this installation yet."
    ),
    _code(
        "account.no_login",
        HTTPStatus.FAILED_DEPENDENCY,
        "Accounts of this kind are connected by credentials, without a log-in.",
    ),
    _code(
        "account.not_connected",
        HTTPStatus.FAILED_DEPENDENCY,
        "No such account is connected for the brand; 404 where the account itself was asked for.",
        HTTPStatus.NOT_FOUND,
    ),
    _code(
        "account.other_identity",
        HTTPStatus.FAILED_DEPENDENCY,
        "The account is connected as another user than at the beginning of this effect.",
    ),
    _code(
        "account.request_not_allowed",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The account does not allow this request.",
    ),
    _code(
        "account.state_unknown",
        HTTPStatus.FAILED_DEPENDENCY,
        "The log-in was used already, is too old, or was begun for another account.",
    ),
    _code("budget.exhausted", HTTPStatus.PAYMENT_REQUIRED, "The budget of the day or month is used up."),
    _code(
        "budget.set_aside",
        HTTPStatus.PAYMENT_REQUIRED,
        "The rest of the budget is set aside for calls under way.",
    ),
    _code(
        "budget.too_small",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The call may cost more than any day or month has.",
    ),
    _code("call.fenced", HTTPStatus.CONFLICT, "Another process has taken the receipt over."),
    _code("call.no_answer", HTTPStatus.FAILED_DEPENDENCY, "The outcome of the request is unknown."),
    _code("call.not_sent", HTTPStatus.SERVICE_UNAVAILABLE, "Nothing was sent; the same may be sent again."),
    _code(
        "call.under_way",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "An identical call is under way and takes long; 409 where a request of the receipt may still arrive.",
        HTTPStatus.CONFLICT,
    ),
    _code(
        "credentials.key_missing",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Give the key or the credentials again.",
    ),
    _code("credentials.no_keys", HTTPStatus.FAILED_DEPENDENCY, "`GATEWAY_KEYS` is not set."),
    _code(
        "credentials.sealed", HTTPStatus.FAILED_DEPENDENCY, "None of `GATEWAY_KEYS` opens the credentials."
    ),
    _code(
        "gateway.failed",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The gateway failed; its log has the reason.",
    ),
    _code("key.used", HTTPStatus.UNPROCESSABLE_ENTITY, "The `Idempotency-Key` was used for another call."),
    _code(
        "limit.reached",
        HTTPStatus.TOO_MANY_REQUESTS,
        "The rate limit of the provider or account leaves no turn in time.",
    ),
    _code("mail.later", HTTPStatus.SERVICE_UNAVAILABLE, "The mail server does not take the mail now."),
    _code("mail.refused", HTTPStatus.UNPROCESSABLE_ENTITY, "The mail server does not take the mail."),
    _code(
        "model.content_filtered",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The provider's content filter refuses the request.",
    ),
    _code(
        "model.context_too_long",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The request is longer than the model can read.",
    ),
    _code(
        "page.not_configured", HTTPStatus.UNPROCESSABLE_ENTITY, "No page is read before `ROBOT_ABOUT` is set."
    ),
    _code(
        "page.address",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Pages cannot be read from this address.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.broken_off",
        HTTPStatus.FAILED_DEPENDENCY,
        "The site broke off in the midst of its answer.",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "page.busy",
        HTTPStatus.FAILED_DEPENDENCY,
        "Too many pages are being read at once.",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "page.certificate",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The certificate of the site is not trusted.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.encoding",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The page's encoding is not supported.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.media_type",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The page's media type is not supported.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.name_lookup",
        HTTPStatus.FAILED_DEPENDENCY,
        "The name of the site cannot be looked up now.",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "page.no_page",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "There is no page at the address.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.port",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Pages are read from the ports 80 and 443 alone.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.private_address",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The address is private.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.redirects",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The site redirects too often.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.robots",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The site does not want robots to read the page.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.site_failed", HTTPStatus.FAILED_DEPENDENCY, "The site failed.", HTTPStatus.UNPROCESSABLE_ENTITY
    ),
    _code(
        "page.timeout",
        HTTPStatus.FAILED_DEPENDENCY,
        "The site did not answer in time.",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "page.too_large",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The page is too large.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.unknown_host",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "There is no such site.",
        HTTPStatus.FAILED_DEPENDENCY,
    ),
    _code(
        "page.unreachable",
        HTTPStatus.FAILED_DEPENDENCY,
        "The site cannot be reached.",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "provider.away",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The provider cannot be reached, or failed over this request.",
    ),
    _code(
        "provider.failing",
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The provider failed several times in a row, so requests to it pause.",
    ),
    _code("provider.key_refused", HTTPStatus.FAILED_DEPENDENCY, "The provider refuses the key."),
    _code("provider.limited", HTTPStatus.TOO_MANY_REQUESTS, "The provider asked for a pause."),
    _code(
        "provider.no_answer",
        HTTPStatus.FAILED_DEPENDENCY,
        "The provider broke off or did not answer in time; the call counts as spent.",
    ),
    _code(
        "provider.not_connected",
        HTTPStatus.FAILED_DEPENDENCY,
        "The provider is not connected; 404 where the provider itself was asked for, 422 where it does something else.",
        HTTPStatus.NOT_FOUND,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    _code(
        "provider.quota_exhausted",
        HTTPStatus.FAILED_DEPENDENCY,
        "The plan or the credit at the provider is used up.",
    ),
    _code(
        "provider.refused_request",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The provider does not take this request.",
    ),
    _code(
        "provider.unusable_answer",
        HTTPStatus.FAILED_DEPENDENCY,
        "The provider does not answer as documented.",
    ),
    _code(
        "request.too_many_tokens",
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The request asks for more tokens than the model may write.",
    ),
    _code("spending.stopped", HTTPStatus.PAYMENT_REQUIRED, "An operator has stopped spending."),
)
