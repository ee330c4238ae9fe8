"""Checks passwords, which open the person's own key, and slows wrong ones."""

from http import HTTPStatus
from typing import Final

from starlette.requests import Request

from console.pages.parts import ConsoleParts, parts_of
from console.people import store as people
from console.people.domain import Person
from console.people.store import PasswordLock
from console.sealing import PasswordCost, SealedError, seal, unseal
from console.sign_in import slowing
from console.sign_in.beginning import network

_NO_SALT: Final = b"no such account!"
_PURPOSE: Final = "password"


async def open_with_password(parts: ConsoleParts, lock: PasswordLock | None, password: str) -> bytes | None:
    """Returns the person's own key; None for a wrong password, or for no person, after the same time."""
    salt = _NO_SALT if lock is None else lock.salt
    cost = None if lock is None else PasswordCost.read(lock.cost)
    key = await parts.passwords.derive(password, salt, cost)
    if lock is None:
        return None
    try:
        return unseal(lock.sealed, key, _PURPOSE)
    except SealedError:
        return None


async def lock_with_password(parts: ConsoleParts, own_key: bytes, password: str) -> PasswordLock:
    """Seals a person's own key by a new password."""
    salt = parts.passwords.new_salt()
    derived = await parts.passwords.derive(password, salt)
    return PasswordLock(salt, parts.passwords.cost.written(), seal(own_key, derived, _PURPOSE))


class PasswordRefusedError(Exception):
    """A password is wrong, or was tried too soon after wrong ones; `text` is the key of the sentence for the person."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


async def open_own_key(request: Request, person: Person, password: str) -> bytes:
    """Returns the person's own key, and slows wrong passwords. Raises PasswordRefusedError."""
    parts = parts_of(request)
    async with parts.connections.connection() as connection:
        if await slowing.blocked_until(connection, person.name, network(request)) is not None:
            raise PasswordRefusedError("sign_in.slowed", HTTPStatus.TOO_MANY_REQUESTS)
        lock = await people.find_lock(connection, person.id)
    own_key = await open_with_password(parts, lock, password)
    if own_key is None:
        async with parts.connections.connection() as connection:
            await slowing.note_failure(connection, person.name, network(request))
        raise PasswordRefusedError("sign_in.wrong_password", HTTPStatus.UNAUTHORIZED)
    return own_key


async def check_password(request: Request, person: Person, password: str) -> str | None:
    """Returns the key of a text that says why a password is not taken; None: it is right."""
    try:
        await open_own_key(request, person, password)
    except PasswordRefusedError as error:
        return error.text
    return None
