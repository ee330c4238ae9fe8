"""A passkey in place of the password before a grave act."""

from starlette.requests import Request

from console.pages.forms import Form
from console.pages.parts import parts_of, relying_party_of
from console.passkeys import ceremonies, store
from console.passkeys.ceremonies import PasskeyRefusedError
from console.people.domain import Person


class PasskeyProof:
    """Says whether a person can prove themselves by a passkey, and checks what the browser sent."""

    async def is_offered(self, request: Request, person: Person) -> bool:
        """Whether the browser may have a passkey of the person."""
        if relying_party_of(request) is None:
            return False
        async with parts_of(request).connections.connection() as connection:
            return bool(await store.list_credential_ids(connection, person.id))

    async def check(self, request: Request, person: Person, form: Form) -> str | None:
        """Returns the key of a text that says why the proof is not taken; None: it is right.

        Its challenge is one of a sign-in, and counts once. Nothing is opened: the session has the person's own key already.
        """
        party, challenge = relying_party_of(request), ceremonies.read_bytes(form.text("challenge"))
        async with parts_of(request).connections.whole() as work:
            if party is None or not await store.take_challenge(work.connection, challenge, None):
                return "passkeys.failed"
            passkey = await store.find_passkey(
                work.connection, ceremonies.read_bytes(form.text("credential_id"))
            )
            if passkey is None or passkey.person != person.id:
                return "passkeys.unknown"
            try:
                sign_count = ceremonies.check_authentication(
                    party,
                    form.raw("credential"),
                    challenge,
                    public_key=passkey.public_key,
                    sign_count=passkey.sign_count,
                )
            except PasskeyRefusedError as error:
                return error.text
            await store.note_use(work.connection, passkey.id, sign_count)
        return None
