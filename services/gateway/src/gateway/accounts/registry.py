"""The accounts that there are, with their credentials: opened where a request is about to leave, and hidden wherever they stand."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic import SecretStr, ValidationError

from chassis import Connection, Connections, redaction
from gateway.accounts import store
from gateway.accounts.domain import Account, State
from gateway.accounts.kind import Credentials, Kind, Own
from gateway.accounts.kinds import KINDS
from gateway.accounts.kinds.webhook import WebhookCredentials
from gateway.accounts.store import Connecting
from gateway.credentials import Keyring
from gateway.problems import Problem, ProblemError

ERASED_ACCOUNTS_KEPT: Final = timedelta(days=7)
"""How long an administrator can undo what an erasure took."""
_SEALED_AS: Final = "account "
"""Before the name, so that what is sealed for a provider of that name opens no account."""


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """An account that can be asked. Its credentials are secret wherever they are printed."""

    account: Account
    kind: Kind
    settings: Any
    credentials: Credentials

    @property
    def own(self) -> Own:
        """What its kind goes by now."""
        return Own(self.settings, self.credentials, datetime.now(UTC))


class Registry:
    """Reads an account each time it is asked for: a change counts from the next request on, on every replica."""

    def __init__(self, connections: Connections, keyring: Keyring) -> None:
        self._connections = connections
        self._keyring = keyring
        self._learned: set[str] = set()

    async def described(self, brand: str | None = None) -> list[Account]:
        """Every account without its credentials; of a brand, those that it may use."""
        async with self._connections.connection() as connection:
            rows = await store.every(connection)
        return [row.account for row in rows if brand is None or row.account.may_be_used_by(brand)]

    async def find(self, name: str) -> Opened:
        """The account, whoever may use it.

        Raises:
            ProblemError: `account.not_connected`, or its credentials cannot be opened.
        """
        async with self._connections.connection() as connection:
            row = await store.find(connection, name)
        if row is None or row.account.kind not in KINDS:
            raise ProblemError(not_connected(name))
        return self._opened(row)

    async def usable(self, name: str, brand: str | None) -> Opened:
        """The account, for a brand that may use it; no other learns of it.

        Raises:
            ProblemError: `account.not_connected`, `account.needs_reconnecting`.
        """
        row = await self.known(name, brand)
        if row.account.state_at(datetime.now(UTC)) is State.NEEDS_RECONNECTING:
            raise ProblemError(
                needs_reconnecting(name, row.account.detail or "its access has expired: connect again")
            )
        return self._opened(row)

    async def known(self, name: str, brand: str | None) -> store.Row:
        """The account as it is kept, for a brand that may use it.

        Raises:
            ProblemError: `account.not_connected`.
        """
        async with self._connections.connection() as connection:
            row = await store.find(connection, name)
        if row is None or row.account.kind not in KINDS or not row.account.may_be_used_by(brand):
            raise ProblemError(not_connected(name))
        return row

    async def connect(self, given: Connecting, credentials: Mapping[str, Any] | None) -> Credentials | None:
        """Connects an account, or changes it. Without credentials, those that it has are kept if it stays where it is.

        Returns the new credentials, so that what was made for them can be shown once.

        Raises:
            ProblemError: `credentials.key_missing`: they would be sent elsewhere than they were given for; `credentials.no_keys`.
            ValueError: they are not those of such an account; quotes none of them.
        """
        kind = KINDS[given.kind]
        async with self._connections.connection() as connection, connection.transaction():
            await store.lock(connection, given.name)
            known = await store.find(connection, given.name)
            if credentials is None and known is not None:
                if (known.account.kind, _place(known.account.settings)) != (
                    given.kind,
                    _place(given.settings),
                ):
                    raise ProblemError(_credentials_missing(given.name))
                await store.change(connection, given)
                return None
            checked = validated(kind, credentials or {})
            await self.put(connection, given, checked)
            return checked

    async def put(self, connection: Connection, given: Connecting, credentials: Credentials) -> None:
        """Connects it with these, in the transaction at hand."""
        await store.put(connection, given, self.seal(given.name, credentials))

    async def replace(self, opened: Opened, credentials: Credentials) -> bool:
        """New credentials for an account; False if somebody was faster. When this returns they are stored."""
        sealed = self.seal(opened.account.name, credentials)
        async with self._connections.connection() as connection:
            return await store.set_sealed(connection, opened.account.name, opened.account.generation, sealed)

    async def rotate(self, name: str) -> SecretStr:
        """The new signing secret of a webhook; the one before signs, too, until the next time.

        Raises:
            ProblemError: `account.not_connected`; `account.request_not_allowed`: it is no webhook.
        """
        async with self._connections.connection() as connection, connection.transaction():
            await store.lock(connection, name)
            row = await store.find(connection, name)
            if row is None:
                raise ProblemError(not_connected(name, HTTPStatus.NOT_FOUND))
            opened = self._opened(row)
            if not isinstance(opened.credentials, WebhookCredentials):
                raise ProblemError(_no_webhook(name))
            new = opened.credentials.rotated()
            await store.set_sealed(connection, name, row.account.generation, self.seal(name, new))
        return new.secret

    async def disconnect(self, name: str) -> None:
        """Raises ProblemError: `account.not_connected`."""
        async with self._connections.connection() as connection:
            if not await store.remove(connection, name):
                raise ProblemError(not_connected(name, HTTPStatus.NOT_FOUND))

    async def erase(self, erasure_id: UUID, brand: str) -> dict[str, int]:
        """Takes the accounts from a brand that is erased; those of others as well lose it and stay.

        They are out of use at once, and deleted with their credentials after `ERASED_ACCOUNTS_KEPT`.
        """
        async with self._connections.connection() as connection, connection.transaction():
            removed = await store.erase_once(connection, erasure_id, brand)
        log.warning("accounts_of_brand_erased", brand=brand, erasure_id=str(erasure_id), **removed)
        return removed

    async def erased(self) -> list[store.ErasedAccount]:
        """The accounts that erasures took and that can be given back, the latest first."""
        async with self._connections.connection() as connection:
            return await store.erased(connection, ERASED_ACCOUNTS_KEPT)

    async def restore(self, erasure_id: UUID) -> tuple[list[str], list[str]]:
        """Undoes an erasure: the names of the accounts that are back, and of those whose name another account has now."""
        async with self._connections.connection() as connection, connection.transaction():
            restored, taken = await store.restore(connection, erasure_id, ERASED_ACCOUNTS_KEPT)
        log.warning("accounts_restored", erasure_id=str(erasure_id), restored=restored, taken=taken)
        return restored, taken

    async def forget_erased(self) -> None:
        """Deletes for good what erasures took longer ago than `ERASED_ACCOUNTS_KEPT`."""
        async with self._connections.connection() as connection:
            await store.forget_erased(connection, ERASED_ACCOUNTS_KEPT)

    async def seal_anew(self) -> int:
        """Seals everything with the first key of the ring, while requests go on; returns how many accounts there are.

        Raises:
            ProblemError: one of them cannot be opened; those before it are done.
        """
        done = 0
        async with self._connections.connection() as connection:
            for row in await store.every(connection):
                anew = self._keyring.seal_anew(row.account.name, row.sealed)
                await store.replace_sealed(connection, row.account.name, row.sealed, anew)
                done += 1
            for name, sealed in await store.erased_sealed(connection):
                anew = self._keyring.seal_anew(name, sealed)
                await store.replace_erased_sealed(connection, name, sealed, anew)
        return done

    def seal(self, name: str, credentials: Credentials) -> bytes:
        """Raises ProblemError: `credentials.no_keys`."""
        self.learn(credentials)
        return self._keyring.seal(f"{_SEALED_AS}{name}", credentials.plain())

    def learn(self, credentials: Credentials) -> None:
        """Has them hidden from now on wherever something is written down."""
        new = set(credentials.secrets()) - self._learned
        if new:
            redaction.learn(*new)
            self._learned |= new

    def _opened(self, row: store.Row) -> Opened:
        account = row.account
        kind = KINDS[account.kind]
        text = self._keyring.open(f"{_SEALED_AS}{account.name}", row.sealed).get_secret_value()
        credentials = kind.credentials.model_validate_json(text)
        self.learn(credentials)
        return Opened(account, kind, kind.settings.model_validate(account.settings), credentials)


def identities(account: Account) -> list[str]:
    """What stands for the user as whom an account is connected: `user:…`, if that is known, and this connection, `connection:…`.

    A receipt keeps the first of them, and goes on only while one of them is what it keeps.
    """
    kind = KINDS.get(account.kind)
    user = None if kind is None else kind.user(account)
    connection = json.dumps([account.connected_at.isoformat(), account.settings], sort_keys=True, default=str)
    this = f"connection:{hashlib.sha256(connection.encode()).hexdigest()[:32]}"
    return [this] if user is None else [f"user:{user}", this]


def validated(kind: Kind, credentials: Mapping[str, Any]) -> Credentials:
    """Raises ValueError: a sentence that says what is wrong and quotes nothing."""
    try:
        return kind.credentials.model_validate(dict(credentials))
    except ValidationError as error:
        raise ValueError(f"credentials.{_first(error)}") from None


def checked_settings(kind: Kind, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        return kind.settings.model_validate(dict(settings)).model_dump(mode="json")
    except ValidationError as error:
        raise ValueError(f"settings.{_first(error)}") from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].removeprefix('Value error, ')}"


def _place(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Where credentials are sent."""
    return tuple(settings.get(name) for name in ("url", "api_url", "host", "port", "security"))


def not_connected(name: str, status: HTTPStatus = HTTPStatus.FAILED_DEPENDENCY) -> Problem:
    return Problem(
        "account.not_connected",
        f"there is no account {name} for this brand: `brandctl accounts connect` connects one, `brandctl accounts list` shows"
        " what there is",
        status,
    )


def needs_reconnecting(name: str, detail: str | None) -> Problem:
    return Problem(
        "account.needs_reconnecting",
        f"{name} takes no requests: {detail or 'its access was refused'} (`brandctl accounts connect`)",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def _no_webhook(name: str) -> Problem:
    return Problem(
        "account.request_not_allowed",
        f"{name} has no signing secret: give it other credentials with `brandctl accounts connect`",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _credentials_missing(name: str) -> Problem:
    return Problem(
        "credentials.key_missing",
        f"give the credentials of {name} again: they are kept only where kind and address stay as they are",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
