"""Accepts an invitation, whichever way the person will sign in."""

from uuid import uuid4

from starlette.requests import Request

from chassis import Connection
from console.pages.layout import texts_of
from console.people import store
from console.people.domain import Person
from console.people.store import NO_PASSWORD, PasswordLock
from console.sealing import seal, token_hash, token_key, unseal


async def accept(
    connection: Connection,
    request: Request,
    token: str,
    own_key: bytes,
    *,
    lock: PasswordLock = NO_PASSWORD,
    name: str | None = None,
    zone: str = "UTC",
) -> Person | None:
    """Makes the invited person, or gives a person another own key; None: the link is used or too old.

    Raises:
        NameTakenError: another person has the name.
    """
    taken = await store.take_invitation(connection, token_hash(token))
    if taken is None:
        return None
    person_id = taken.person or uuid4()
    api_key = unseal(taken.sealed_key, token_key(token), "invitation")
    sealed_key = seal(api_key, own_key, f"api key of {person_id}")
    if taken.person is None:
        return await store.insert_person(
            connection,
            person_id,
            name=name or taken.name,
            role=taken.role,
            brands=taken.brands,
            language=texts_of(request, None).language,
            zone=zone,
            key_id=taken.key_id,
            sealed_key=sealed_key,
            lock=lock,
        )
    reset = await store.reset_person(
        connection, person_id, key_id=taken.key_id, sealed_key=sealed_key, lock=lock
    )
    assert reset is not None  # an invitation goes with its person
    return reset
