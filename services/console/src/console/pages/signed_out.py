"""The page for a request that comes after the session has ended; a form is kept until its person has signed in again."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from console.pages.forms import MAX_FIELDS, Form, read_form
from console.pages.layout import page
from console.pages.parts import relying_party_of
from console.sealing import PRF_INPUT
from console.urls import HOME, safe_next

SIGNED_OUT_HEADER: Final = "Console-Signed-Out"
"""Tells scripts that an answer stands for that of the page that they asked for."""


@dataclass(frozen=True, slots=True)
class UnsentForm:
    """A form that was not acted upon, as its person had to sign in first."""

    path: str
    """Where to send it, within the console."""
    body: str
    """Its fields, `application/x-www-form-urlencoded`; without passwords."""

    @classmethod
    def read(cls, form: Form) -> Self | None:
        """Reads what the sign-in page has kept."""
        path = safe_next(form.text("then"))
        return cls(path, form.raw("fields")) if path != HOME else None

    @property
    def fields(self) -> list[tuple[str, str]]:
        try:
            return parse_qsl(self.body, keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:
            return []


def show_sign_in_form(
    request: Request,
    status: int,
    *,
    next_page: str = HOME,
    name: str = "",
    error: str | None = None,
    unsent: UnsentForm | None = None,
) -> Response:
    return page(
        request,
        None,
        "sign_in/sign_in.html.j2",
        status,
        next_page=next_page,
        name=name,
        error=error,
        unsent=unsent,
        prf_input=PRF_INPUT if relying_party_of(request) else None,
    )


async def show_signed_out(request: Request) -> Response:
    """Answers 401 with a sign-in form, which keeps the fields of the request's form."""
    unsent = None
    if request.method == "POST":
        query = f"?{request.url.query}" if request.url.query else ""
        try:
            form = await read_form(request)
        except HTTPException:  # it is no form, or too large
            form = Form([])
        kept = [(name, value) for name, value in form.fields if "password" not in name]
        path = safe_next(request.scope["path"] + query)
        unsent = UnsentForm(path, urlencode(kept)) if path != HOME else None
    response = show_sign_in_form(request, HTTPStatus.UNAUTHORIZED, unsent=unsent)
    response.headers[SIGNED_OUT_HEADER] = "true"
    return response
