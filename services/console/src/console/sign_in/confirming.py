"""Asks for the password again before grave acts."""

from typing import Final

from starlette.requests import Request

from console.pages import Form, PageViewer
from console.pages.parts import parts_of
from console.pages.viewer import PasswordNeededError
from console.sessions import store as sessions
from console.sign_in.passwords import check_password

FIELD: Final = "password_again"
BY_PASSKEY: Final = "by_passkey"
"""The field of a form that a passkey answers, beside those of its answer."""
_OF_PASSKEY: Final = frozenset({BY_PASSKEY, "challenge", "credential_id", "credential", "prf"})


async def confirm_password(request: Request, viewer: PageViewer, form: Form) -> None:
    """Asks for the password, or for a passkey of the person, before a grave act, unless it was given within the last CONFIRMED_FOR.

    Call it before `once`. A form may have the field by the macro `password_again()`; a form without it works too, as the
    page that asks repeats all other fields.

    Raises:
        PasswordNeededError: the password is missing or wrong; its handler shows the page that asks.
    """
    if viewer.is_confirmed:
        return
    proof = parts_of(request).passkey_proof
    error, not_kept = None, {FIELD}
    if BY_PASSKEY in form:
        not_kept |= _OF_PASSKEY
        error = await proof.check(request, viewer.person, form)
    elif password := form.raw(FIELD):
        error = await check_password(request, viewer.person, password)
    if error is None and (BY_PASSKEY in form or form.raw(FIELD)):
        async with parts_of(request).connections.connection() as connection:
            await sessions.confirm_session(connection, viewer.session.id)
        return
    kept = tuple((name, value) for name, value in form.fields if name not in not_kept)
    # A form that has a passkey's answer of its own, which makes one, takes the password alone.
    has_own = not _OF_PASSKEY.isdisjoint(name for name, _ in kept)
    offers = not has_own and await proof.is_offered(request, viewer.person)
    raise PasswordNeededError(kept, error, offers_passkey=offers)
