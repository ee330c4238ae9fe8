"""How a refusal is told: as problem details (RFC 9457), whoever refuses, in every service.

{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "a sentence that says what to do"}
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

MEDIA_TYPE: Final = "application/problem+json"
BLANK: Final = "about:blank"
"""The `type` of what is told by its status and its sentence; `title` is the status's name then."""


class ProblemResponse(JSONResponse):
    """A refusal.

    Args:
        status: of the answer.
        detail: a sentence that says what is wrong and what to do.
        headers: such as `Retry-After`.
        kind: the `type`, by which programs tell apart what has the same status.
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
        **more: Any,
    ) -> None:
        super().__init__(problem(status, detail, kind=kind, **more), status, headers)

    @classmethod
    def of(cls, error: HTTPException) -> "ProblemResponse":
        return cls(error.status_code, error.detail, error.headers)


def problem(status: int, detail: str, *, kind: str = BLANK, **more: Any) -> dict[str, Any]:
    """The members of a problem, in the order in which people read them."""
    return {"type": kind, "title": _title(status, kind), "status": int(status), "detail": detail, **more}


def _title(status: int, kind: str) -> str:
    if kind != BLANK:
        return kind.replace(".", ": ").replace("_", " ")
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
