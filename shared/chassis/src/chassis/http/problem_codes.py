"""Stable codes that identify refusals for programs.

The meaning of a code never changes. Each service lists its own codes; this module has those that all APIs share. Sentences may
change at any time, so programs must not parse them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
    status: HTTPStatus
    meaning: str
    """One sentence, for the documents."""
    type: str = ""
    """The `type` of such a refusal; empty: a URN that is made of the code."""
    also: tuple[HTTPStatus, ...] = ()
    """Other possible statuses of the same refusal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", self.type or f"{_TYPE}{self.code}")


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


def _of_status(code: str, status: HTTPStatus, meaning: str) -> ProblemCode:
    return ProblemCode(code, status, meaning, BLANK)


MALFORMED_REQUEST = _of_status("malformed_request", HTTPStatus.BAD_REQUEST, "The request is not valid HTTP.")
UNAUTHORIZED = _of_status("unauthorized", HTTPStatus.UNAUTHORIZED, "The key is missing or wrong.")
FORBIDDEN = _of_status("forbidden", HTTPStatus.FORBIDDEN, "The key does not open this.")
SCOPE_MISSING = ProblemCode(
    "scope_missing", HTTPStatus.FORBIDDEN, "The key lacks the scope that `detail` names."
)
KEY_BOUND_TO_BRANDS = ProblemCode(
    "key_bound_to_brands",
    HTTPStatus.FORBIDDEN,
    "This concerns other brands than the key is bound to, or all of them.",
)
NOT_FOUND = _of_status("not_found", HTTPStatus.NOT_FOUND, "There is nothing at this path.")
UNKNOWN_BRAND = ProblemCode(
    "unknown_brand", HTTPStatus.NOT_FOUND, "There is no such brand, or the key is bound to others."
)
METHOD_NOT_ALLOWED = _of_status(
    "method_not_allowed",
    HTTPStatus.METHOD_NOT_ALLOWED,
    "The path does not take this method; `Allow` names those that it takes.",
)
TIMED_OUT = _of_status("timed_out", HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time.")
CONFLICT = _of_status("conflict", HTTPStatus.CONFLICT, "The state of the thing does not allow this.")
REQUEST_UNDER_WAY = ProblemCode(
    "request_under_way",
    HTTPStatus.CONFLICT,
    "The same request, with the same `Idempotency-Key`, is under way; again after `Retry-After`.",
)
GONE = _of_status("gone", HTTPStatus.GONE, "It was removed for good.")
PRECONDITION_FAILED = _of_status(
    "precondition_failed", HTTPStatus.PRECONDITION_FAILED, "The precondition of a header does not hold."
)
BODY_TOO_LARGE = _of_status(
    "body_too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is larger than the route takes."
)
UNSUPPORTED_MEDIA_TYPE = _of_status(
    "unsupported_media_type",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "The route does not take bodies of this `Content-Type`.",
)
INVALID_REQUEST = _of_status(
    "invalid_request",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The request cannot be understood; `errors` names the fields that are wrong.",
)
INVALID_CURSOR = ProblemCode(
    "invalid_cursor", HTTPStatus.UNPROCESSABLE_ENTITY, "`after` is not the `next` of a page of this list."
)
UNKNOWN_PARAMETER = ProblemCode(
    "unknown_parameter",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The route does not know a parameter of the query; `detail` lists those that it knows.",
)
DUPLICATE_MEMBER = ProblemCode(
    "duplicate_member", HTTPStatus.UNPROCESSABLE_ENTITY, "An object in the JSON body has a member twice."
)
IDEMPOTENCY_KEY_INVALID = ProblemCode(
    "idempotency_key_invalid", HTTPStatus.UNPROCESSABLE_ENTITY, "The `Idempotency-Key` cannot be one."
)
IDEMPOTENCY_KEY_NOT_TAKEN = ProblemCode(
    "idempotency_key_not_taken",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The answer has a secret that is kept nowhere, so the route takes no `Idempotency-Key`.",
)
IDEMPOTENCY_KEY_USED = ProblemCode(
    "idempotency_key_used",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "The `Idempotency-Key` was used for another request.",
)
FAILED_DEPENDENCY = _of_status(
    "failed_dependency", HTTPStatus.FAILED_DEPENDENCY, "Something that this needs is missing or failed."
)
TOO_MANY_WRONG_KEYS = ProblemCode(
    "too_many_wrong_keys",
    HTTPStatus.TOO_MANY_REQUESTS,
    "Many wrong keys were sent from the address, so this one was not looked at; again after `Retry-After`.",
    BLANK,
)
TOO_MANY_REQUESTS = _of_status(
    "too_many_requests", HTTPStatus.TOO_MANY_REQUESTS, "Too much was asked; again after `Retry-After`."
)
QUOTA_EXCEEDED = ProblemCode(
    "quota_exceeded",
    HTTPStatus.TOO_MANY_REQUESTS,
    "The key has been used as often in this minute as it may.",
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
)
INTERNAL_ERROR = _of_status(
    "internal_error", HTTPStatus.INTERNAL_SERVER_ERROR, "It failed for a reason of ours, which is in the log."
)
UNAVAILABLE = _of_status(
    "unavailable",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "The database is away, or too much is asked at once; again after `Retry-After`.",
)

COMMON: Final = listed_codes(globals())
_BY_STATUS: Final = {each.status: each for each in COMMON if each.type == BLANK}
"""Of several codes of one status, the last one is the general one."""


def code_of_status(status: int) -> str:
    """Return the general code of a status, for refusals without their own."""
    known = _BY_STATUS.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    return known.code if known else "refused"
