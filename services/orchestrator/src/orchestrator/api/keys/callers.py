"""Identifies the caller of a request by its API key or the service key."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis import ServiceKey
from chassis.api_keys import ApiKey, is_one_of
from chassis.http.callers import Caller
from chassis.http.problem_codes import UNAUTHORIZED, RefusalError
from messaging import Database
from orchestrator.api.keys import store
from orchestrator.api.keys.lookup import KeyLookup
from orchestrator.api.keys.store import KeyCredentials

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="Brand Engine"'}


class ClosedKeyError(ValueError):
    """The API key is not valid; the message says why."""


class KeyHolders:
    """Looks up each request's key in the database, so that a revocation holds at once on every replica."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._locks = KeyLookup(database)
        self._noted: dict[str, int] = {}
        """Minutes in which this process has recorded a use, by key id."""

    async def sender_of(self, key_id: str) -> Caller:
        """The caller of a key whose user the broker has verified.

        Raises:
            RefusalError: the key is unknown, revoked or expired.
        """
        found = await self._locks.find(key_id)
        if found is None:
            raise RefusalError(UNAUTHORIZED, f"the API key {key_id} is not known any more")
        try:
            await self._check_valid(key_id, found)
        except ClosedKeyError as error:
            raise RefusalError(UNAUTHORIZED, str(error)) from error
        return found.caller

    async def holder_of(self, key_id: str, hashed: bytes) -> Caller:
        """The caller that owns a key, by the key's id and its secret's hash.

        Raises:
            ClosedKeyError: the key is unknown, revoked or expired.
        """
        found = await self._locks.find(key_id)
        if not is_one_of(hashed, *(found.hashes if found else (None, None))) or found is None:
            raise ClosedKeyError("this API key is not known; make one with `brandctl keys create`")
        await self._check_valid(key_id, found)
        return found.caller

    async def _check_valid(self, key_id: str, found: KeyCredentials) -> None:
        """Raises ClosedKeyError for a key that ended; records the use of another."""
        if found.is_revoked:
            raise ClosedKeyError("this API key was revoked; ask for another one")
        if found.expired_at is not None:
            day = found.expired_at.date()
            raise ClosedKeyError(f"this API key expired on {day}; make another with `brandctl keys create`")
        if self._noted.get(key_id) != found.minute:
            async with self._database.connection() as connection:
                await store.note_use(connection, key_id)
            self._noted[key_id] = found.minute


class RequestAuthenticator:
    """Identifies callers by API keys and by the service key.

    Args:
        database: of the service.
        service_key: allows everything; the only way in before the first API key exists.
    """

    def __init__(self, database: Database, service_key: ServiceKey) -> None:
        self._holders = KeyHolders(database)
        self._service_key = service_key

    async def __call__(self, request: Request) -> Caller:
        if "x-service-key" in request.headers:
            return await self._service_key(request)
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise _refused(
                "send an API key in the header Authorization, as “Bearer be_…”, or the service key in the header"
                " X-Service-Key"
            )
        key = ApiKey.read(text.strip())
        if key is None:
            raise _refused(
                "this is no API key: one begins with “be_”, and the checksum at its end tells that a character of it is"
                " missing or wrong; copy all of it"
            )
        try:
            return await self._holders.holder_of(key.id, key.hashed())
        except ClosedKeyError as error:
            raise _refused(str(error)) from error


def _refused(detail: str) -> HTTPException:
    return RefusalError(UNAUTHORIZED, detail, CHALLENGE)
