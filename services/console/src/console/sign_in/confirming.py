"""Asks for the password again before grave acts."""

from typing import Final

from starlette.requests import Request

from console.pages import Form, PageViewer
from console.pages.parts import parts_of
from console.pages.viewer import PasswordNeededError
from console.sessions import store as sessions
from console.sign_in.passwords import check_password

FIELD: Final = "password_again"


async def confirm_password(request: Request, viewer: PageViewer, form: Form) -> None:
    """Asks for the password before a grave act, unless it was given within the last CONFIRMED_FOR.

    Call it before `once`. A form may have the field by the macro `password_again()`; a form without it works too, as the
    page that asks repeats all other fields.

    Raises:
        PasswordNeededError: the password is missing or wrong; its handler shows the page that asks.
    """
    if viewer.is_confirmed:
        return
    error = None
    if password := form.raw(FIELD):
        error = await check_password(request, viewer.person, password)
        if error is None:
            async with parts_of(request).connections.connection() as connection:
                await sessions.confirm_session(connection, viewer.session.id)
            return
    kept = tuple((name, value) for name, value in form.fields if name != FIELD)
    raise PasswordNeededError(kept, error)
