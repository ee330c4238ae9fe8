"""Responses for refusals: problem details (RFC 9457), alike in all services.

{"type": "about:blank", "title": "Not Found", "status": 404, "code": "not_found", "detail": "a sentence that says what to do"}
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from chassis.http.problem_codes import BLANK, ProblemCode, RefusalError, code_of_status

MEDIA_TYPE: Final = "application/problem+json"


class ProblemResponse(JSONResponse):
    """A refusal.

    Args:
        status: of the answer.
        detail: a sentence that says what is wrong and what to do.
        headers: such as `Retry-After`.
        kind: the `type`.
        code: lets programs tell refusals of one status apart; by default the `type`, or the status's code.
        more: further members.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        *,
        kind: str = BLANK,
        code: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__(problem(status, detail, kind=kind, code=code, **more), status, headers)

    @classmethod
    def of(cls, error: HTTPException) -> "ProblemResponse":
        if isinstance(error, RefusalError):
            return cls.coded(error.code, error.detail, error.headers)
        return cls(error.status_code, error.detail, error.headers)

    @classmethod
    def coded(
        cls, code: ProblemCode, detail: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> "ProblemResponse":
        return cls(code.status, detail, headers, kind=code.type, code=code.code, **more)


def problem(
    status: int, detail: str, *, kind: str = BLANK, code: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return the members of a problem, in reading order."""
    code = code or (code_of_status(status) if kind == BLANK else kind)
    told = {"type": kind, "title": _title(status, kind, code), "status": int(status), "code": code}
    return {**told, "detail": detail, **more}


def _title(status: int, kind: str, code: str) -> str:
    if kind != BLANK:
        return code.replace(".", ": ").replace("_", " ")
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
