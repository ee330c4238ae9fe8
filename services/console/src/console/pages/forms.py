"""Reads the fields of a form, within bounds."""

from http import HTTPStatus
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_FORM_BYTES: Final = 1_000_000
MAX_FIELDS: Final = 5_000


class Form:
    """The fields of a form, without control characters that a database cannot store."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = [(name, value.replace("\0", "").replace("\r\n", "\n")) for name, value in fields]

    def text(self, name: str, otherwise: str = "") -> str:
        """Returns the last value of a field, without spaces around it."""
        found = self.all(name)
        return found[-1].strip() if found else otherwise

    def raw(self, name: str) -> str:
        """Returns the last value as it was typed, such as a password."""
        found = self.all(name)
        return found[-1] if found else ""

    def all(self, name: str) -> list[str]:
        """Returns all values of a field, such as those of checkboxes."""
        return [value for key, value in self._fields if key == name]

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """All names and values, in the order of the form."""
        return tuple(self._fields)

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._fields)

    @property
    def once(self) -> str:
        """The id of the form, with which it acts once; also fit as `idempotency_key` of a call."""
        return self.text("once")


async def read_form(request: Request) -> Form:
    """Reads an `application/x-www-form-urlencoded` body, once in a request. Raises HTTPException 413 or 415."""
    known: Form | None = getattr(request.state, "form", None)
    if known is None:
        known = request.state.form = await _read(request)
    return known


async def _read(request: Request) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"application/x-www-form-urlencoded", ""}:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the form as the page has it")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form has more than a megabyte; shorten it"
            )
    try:
        fields = parse_qsl(
            body.decode(errors="replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace"
        )
    except ValueError:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form has too many fields") from None
    return Form(fields)


FormData = Annotated[Form, Depends(read_form)]
