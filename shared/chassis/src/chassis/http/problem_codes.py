"""Stable codes that identify refusals for programs.

The meaning of a code never changes. Each service lists its own codes; this module has those that all APIs share. Sentences may
change at any time, so programs must not parse them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException

BLANK: Final = "about:blank"
"""The `type` of a refusal whose status says it all; `title` is the status's name then."""
_TYPE: Final = "urn:brand-engine:problem:"


@dataclass(frozen=True, slots=True)
class ProblemCode:
    code: str
    """`unknown_cycle`: lower-case words."""
    meaning: str
    """One sentence, for the documents."""
    status: HTTPStatus
    type: str = ""
    """The `type` of such a refusal; empty: a URN that is made of the code."""
    also: tuple[HTTPStatus, ...] = ()
    """Other possible statuses of the same refusal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.type or f"{_TYPE}{self.code}")


conflict = partial(ProblemCode, status=HTTPStatus.CONFLICT)
forbidden = partial(ProblemCode, status=HTTPStatus.FORBIDDEN)
not_found = partial(ProblemCode, status=HTTPStatus.NOT_FOUND)
precondition_failed = partial(ProblemCode, status=HTTPStatus.PRECONDITION_FAILED)
unavailable = partial(ProblemCode, status=HTTPStatus.SERVICE_UNAVAILABLE)
unprocessable = partial(ProblemCode, status=HTTPStatus.UNPROCESSABLE_ENTITY)


class RefusalError(HTTPException):
    """Refuses a request with a code.

    Args:
        code: gives the status, too.
        detail: a sentence that says what is wrong and what to do.
        headers: such as `Retry-After`.
    """

    def __init__(self, code: ProblemCode, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code.status, detail, headers)
        self.code = code


def listed_codes(module: Mapping[str, Any]) -> tuple[ProblemCode, ...]:
    """Return the codes of a module; pass its `globals()`."""
    return tuple(each for each in module.values() if isinstance(each, ProblemCode))


def merged_codes(*lists: Iterable[ProblemCode]) -> tuple[ProblemCode, ...]:
    """Merge the codes, sorted by status and code.

    Raises:
        ValueError: two codes of the same name differ.
    """
    known: dict[str, ProblemCode] = {}
    for each in (each for codes in lists for each in codes):
        if known.setdefault(each.code, each) != each:
            raise ValueError(f"the code {each.code} has two meanings; rename one of them")
    return tuple(sorted(known.values(), key=lambda each: (each.status, each.code)))


_of_status = partial(ProblemCode, type=BLANK)


MALFORMED_REQUEST = _of_status("malformed_request", "The request is not valid HTTP.", HTTPStatus.BAD_REQUEST)
UNAUTHORIZED = _of_status("unauthorized", "The key is missing or wrong.", HTTPStatus.UNAUTHORIZED)
FORBIDDEN = _of_status("forbidden", "The key does not open this.", HTTPStatus.FORBIDDEN)
SCOPE_MISSING = forbidden("scope_missing", "The key lacks the scope that `detail` names.")
KEY_BOUND_TO_BRANDS = forbidden(
    "key_bound_to_brands", "This concerns other brands than the key is bound to, or all of them."
)
NOT_FOUND = _of_status("not_found", "There is nothing at this path.", HTTPStatus.NOT_FOUND)
UNKNOWN_BRAND = not_found("unknown_brand", "There is no such brand, or the key is bound to others.")
METHOD_NOT_ALLOWED = _of_status(
    "method_not_allowed",
    "The path does not take this method; `Allow` names those that it takes.",
    HTTPStatus.METHOD_NOT_ALLOWED,
)
TIMED_OUT = _of_status("timed_out", "The request did not arrive in time.", HTTPStatus.REQUEST_TIMEOUT)
CONFLICT = _of_status("conflict", "The state of the thing does not allow this.", HTTPStatus.CONFLICT)
REQUEST_UNDER_WAY = conflict(
    "request_under_way",
    "The same request, with the same `Idempotency-Key`, is under way; again after `Retry-After`.",
)
GONE = _of_status("gone", "It was removed for good.", HTTPStatus.GONE)
PRECONDITION_FAILED = _of_status(
    "precondition_failed", "The precondition of a header does not hold.", HTTPStatus.PRECONDITION_FAILED
)
BODY_TOO_LARGE = _of_status(
    "body_too_large", "The body is larger than the route takes.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
)
UNSUPPORTED_MEDIA_TYPE = _of_status(
    "unsupported_media_type",
    "The route does not take bodies of this `Content-Type`.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
INVALID_REQUEST = _of_status(
    "invalid_request",
    "The request cannot be understood; `errors` names the fields that are wrong.",
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
INVALID_CURSOR = unprocessable("invalid_cursor", "`after` is not the `next` of a page of this list.")
UNKNOWN_PARAMETER = unprocessable(
    "unknown_parameter",
    "The route does not know a parameter of the query; `detail` lists those that it knows.",
)
DUPLICATE_MEMBER = unprocessable("duplicate_member", "An object in the JSON body has a member twice.")
IDEMPOTENCY_KEY_INVALID = unprocessable("idempotency_key_invalid", "The `Idempotency-Key` cannot be one.")
IDEMPOTENCY_KEY_NOT_TAKEN = unprocessable(
    "idempotency_key_not_taken",
    "The answer has a secret that is kept nowhere, so the route takes no `Idempotency-Key`.",
)
IDEMPOTENCY_KEY_USED = unprocessable(
    "idempotency_key_used", "The `Idempotency-Key` was used for another request."
)
FAILED_DEPENDENCY = _of_status(
    "failed_dependency", "Something that this needs is missing or failed.", HTTPStatus.FAILED_DEPENDENCY
)
TOO_MANY_WRONG_KEYS = ProblemCode(
    "too_many_wrong_keys",
    "Many wrong keys were sent from the address, so this one was not looked at; again after `Retry-After`.",
    HTTPStatus.TOO_MANY_REQUESTS,
    BLANK,
)
TOO_MANY_REQUESTS = _of_status(
    "too_many_requests", "Too much was asked; again after `Retry-After`.", HTTPStatus.TOO_MANY_REQUESTS
)
QUOTA_EXCEEDED = ProblemCode(
    "quota_exceeded",
    "The key has been used as often in this minute as it may.",
    HTTPStatus.TOO_MANY_REQUESTS,
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
)
INTERNAL_ERROR = _of_status(
    "internal_error", "It failed for a reason of ours, which is in the log.", HTTPStatus.INTERNAL_SERVER_ERROR
)
UNAVAILABLE = _of_status(
    "unavailable",
    "The database is away, or too much is asked at once; again after `Retry-After`.",
    HTTPStatus.SERVICE_UNAVAILABLE,
)

COMMON: Final = listed_codes(globals())
_BY_STATUS: Final = {each.status: each for each in COMMON if each.type == BLANK}
"""Of several codes of one status, the last one is the general one."""


def code_of_status(status: int) -> str:
    """Return the general code of a status, for refusals without their own."""
    known = _BY_STATUS.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    return known.code if known else "refused"
