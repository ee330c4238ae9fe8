"""Stores accounts. Credentials are decrypted just before a request, and masked in all output."""

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
from gateway.accounts.domain import AccountState, ConnectedAccount
from gateway.accounts.kind import AccountCredentials, AccountKind, KindContext
from gateway.accounts.kinds import KINDS
from gateway.accounts.kinds.webhook import WebhookCredentials
from gateway.accounts.store import AccountSetup
from gateway.credentials import Keyring
from gateway.problems import CallProblem, CallProblemError

ERASED_ACCOUNTS_KEPT: Final = timedelta(days=7)
"""How long an administrator can undo an erasure."""
CHECK_AGAIN: Final = timedelta(days=1)
"""Time from a check, or a refusal, to the next check."""
SEALED_AS: Final = "account "
"""Prefix of the sealed name, so that a provider's sealed key opens no account of the same name."""


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UnsealedAccount:
    """An account with its decrypted credentials, which print as secrets."""

    account: ConnectedAccount
    kind: AccountKind
    settings: Any
    credentials: AccountCredentials

    @property
    def context(self) -> KindContext:
        """The kind's context, at the current time."""
        return KindContext(self.settings, self.credentials, datetime.now(UTC))


class AccountRegistry:
    """Reads an account from the database for each request, so changes apply at once on every replica."""

    def __init__(self, connections: Connections, keyring: Keyring) -> None:
        self._connections = connections
        self._keyring = keyring
        self._learned: set[str] = set()

    async def described(self, brand: str | None = None) -> list[ConnectedAccount]:
        """All accounts without credentials, or those that a brand may use."""
        async with self._connections.connection() as connection:
            rows = await store.list_accounts(connection)
        return [row.account for row in rows if brand is None or row.account.may_be_used_by(brand)]

    async def find(self, name: str) -> UnsealedAccount:
        """The account, for any brand.

        Raises:
            CallProblemError: `account.not_connected`, or the credentials cannot be opened.
        """
        async with self._connections.connection() as connection:
            row = await store.find(connection, name)
        if row is None or row.account.kind not in KINDS:
            raise CallProblemError(not_connected(name))
        return self._opened(row)

    async def usable(self, name: str, brand: str | None) -> UnsealedAccount:
        """The account, if the brand may use it and its access is valid.

        Raises:
            CallProblemError: `account.not_connected`, `account.needs_reconnecting`.
        """
        row = await self.known(name, brand)
        if row.account.state_at(datetime.now(UTC)) is AccountState.NEEDS_RECONNECTING:
            raise CallProblemError(
                needs_reconnecting(name, row.account.detail or "its access has expired: connect again")
            )
        return self._opened(row)

    async def known(self, name: str, brand: str | None) -> store.AccountRow:
        """The account without credentials, if the brand may use it.

        Raises:
            CallProblemError: `account.not_connected`.
        """
        async with self._connections.connection() as connection:
            row = await store.find(connection, name)
        if row is None or row.account.kind not in KINDS or not row.account.may_be_used_by(brand):
            raise CallProblemError(not_connected(name))
        return row

    async def connect(
        self, given: AccountSetup, credentials: Mapping[str, Any] | None
    ) -> AccountCredentials | None:
        """Connects or changes an account. Without credentials, it keeps the present ones if kind and address are unchanged.

        Returns the new credentials, so that generated secrets can be shown once.

        Raises:
            CallProblemError: `credentials.key_missing`: the present ones belong to another address;
                `credentials.no_keys`.
            ValueError: the credentials do not fit the kind; the message quotes none of them.
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
                    raise CallProblemError(_credentials_missing(given.name))
                await store.change(connection, given)
                return None
            checked = validated(kind, credentials or {})
            await self.put(connection, given, checked)
            return checked

    async def put(self, connection: Connection, given: AccountSetup, credentials: AccountCredentials) -> None:
        """Stores the account and its credentials in the present transaction."""
        await store.put(connection, given, self.seal(given.name, credentials))

    async def replace(self, unsealed: UnsealedAccount, credentials: AccountCredentials) -> bool:
        """Stores renewed credentials; returns False if another process stored newer ones."""
        sealed = self.seal(unsealed.account.name, credentials)
        async with self._connections.connection() as connection:
            return await store.set_sealed(
                connection, unsealed.account.name, unsealed.account.generation, sealed
            )

    async def mark_refused(self, account: ConnectedAccount, why: str) -> None:
        """Stores and logs that the provider rejects the credentials; nothing is sent until they work again."""
        log.warning("account_refused", account=account.name, kind=account.kind, why=why)
        async with self._connections.connection() as connection:
            await store.mark_refused(connection, account, why, CHECK_AGAIN)

    async def rotate(self, name: str) -> SecretStr:
        """Creates and returns a new signing secret for a webhook; the previous one signs too, until the next rotation.

        Raises:
            CallProblemError: `account.not_connected`; `account.request_not_allowed`: the account is no webhook.
        """
        async with self._connections.connection() as connection, connection.transaction():
            await store.lock(connection, name)
            row = await store.find(connection, name)
            if row is None:
                raise CallProblemError(not_connected(name, HTTPStatus.NOT_FOUND))
            unsealed = self._opened(row)
            if not isinstance(unsealed.credentials, WebhookCredentials):
                raise CallProblemError(_no_webhook(name))
            new = unsealed.credentials.rotated()
            await store.set_sealed(connection, name, row.account.generation, self.seal(name, new))
        return new.secret

    async def disconnect(self, name: str) -> None:
        """Raises CallProblemError: `account.not_connected`."""
        async with self._connections.connection() as connection:
            if not await store.remove(connection, name):
                raise CallProblemError(not_connected(name, HTTPStatus.NOT_FOUND))

    async def erase(self, erasure_id: UUID, brand: str) -> dict[str, int]:
        """Takes all accounts from an erased brand; shared ones stay with their other brands.

        They stop working at once, and are deleted with their credentials after `ERASED_ACCOUNTS_KEPT`.
        """
        async with self._connections.connection() as connection, connection.transaction():
            removed = await store.erase_once(connection, erasure_id, brand)
        log.warning("accounts_of_brand_erased", brand=brand, erasure_id=str(erasure_id), **removed)
        return removed

    async def erased(self) -> list[store.ErasedAccount]:
        """Erased accounts that can be restored, newest first."""
        async with self._connections.connection() as connection:
            return await store.erased(connection, ERASED_ACCOUNTS_KEPT)

    async def restore(self, erasure_id: UUID) -> tuple[list[str], list[str]]:
        """Undoes an erasure; returns the restored names, and those that another account has taken."""
        async with self._connections.connection() as connection, connection.transaction():
            restored, taken = await store.restore(connection, erasure_id, ERASED_ACCOUNTS_KEPT)
        log.warning("accounts_restored", erasure_id=str(erasure_id), restored=restored, taken=taken)
        return restored, taken

    async def forget_erased(self) -> None:
        """Deletes accounts that were erased longer than `ERASED_ACCOUNTS_KEPT` ago."""
        async with self._connections.connection() as connection:
            await store.forget_erased(connection, ERASED_ACCOUNTS_KEPT)

    async def reseal(self) -> int:
        """Re-encrypts all credentials with the first key of the ring, during operation; returns the number of accounts.

        Raises:
            CallProblemError: one account cannot be opened; the earlier ones are done.
        """
        done = 0
        async with self._connections.connection() as connection:
            for row in await store.list_accounts(connection):
                anew = self._keyring.reseal(row.account.name, row.sealed)
                await store.replace_sealed(connection, row.account.name, row.sealed, anew)
                done += 1
            for name, sealed in await store.erased_sealed(connection):
                anew = self._keyring.reseal(name, sealed)
                await store.replace_erased_sealed(connection, name, sealed, anew)
        return done

    def seal(self, name: str, credentials: AccountCredentials) -> bytes:
        """Raises CallProblemError: `credentials.no_keys`."""
        self.learn(credentials)
        return self._keyring.seal(f"{SEALED_AS}{name}", credentials.plain())

    def learn(self, credentials: AccountCredentials) -> None:
        """Masks the account's secrets in logs and answers from now on."""
        new = set(credentials.secrets()) - self._learned
        if new:
            redaction.learn(*new)
            self._learned |= new

    def _opened(self, row: store.AccountRow) -> UnsealedAccount:
        account = row.account
        kind = KINDS[account.kind]
        text = self._keyring.open(f"{SEALED_AS}{account.name}", row.sealed).get_secret_value()
        credentials = kind.credentials.model_validate_json(text)
        self.learn(credentials)
        return UnsealedAccount(account, kind, kind.settings.model_validate(account.settings), credentials)


def identities(account: ConnectedAccount) -> list[str]:
    """The account's identities: `user:…` if the user is known, and `connection:…` for this connection.

    A receipt stores the first one, and continues only while one of them matches it.
    """
    kind = KINDS.get(account.kind)
    user = None if kind is None else kind.user(account)
    connection = json.dumps([account.connected_at.isoformat(), account.settings], sort_keys=True, default=str)
    this = f"connection:{hashlib.sha256(connection.encode()).hexdigest()[:32]}"
    return [this] if user is None else [f"user:{user}", this]


def validated(kind: AccountKind, credentials: Mapping[str, Any]) -> AccountCredentials:
    """Raises ValueError with a sentence that says what is wrong and quotes nothing."""
    try:
        return kind.credentials.model_validate(dict(credentials))
    except ValidationError as error:
        raise ValueError(f"credentials.{_first(error)}") from None


def checked_settings(kind: AccountKind, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        return kind.settings.model_validate(dict(settings)).model_dump(mode="json")
    except ValidationError as error:
        raise ValueError(f"settings.{_first(error)}") from None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].removeprefix('Value error, ')}"


def _place(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """The address that receives the credentials."""
    return tuple(settings.get(name) for name in ("url", "api_url", "host", "port", "security"))


def not_connected(name: str, status: HTTPStatus = HTTPStatus.FAILED_DEPENDENCY) -> CallProblem:
    return CallProblem(
        "account.not_connected",
        f"there is no account {name} for this brand: `brandctl accounts connect` connects one, `brandctl accounts list` shows"
        " what there is",
        status,
    )


def needs_reconnecting(name: str, detail: str | None) -> CallProblem:
    return CallProblem(
        "account.needs_reconnecting",
        f"{name} takes no requests: {detail or 'its access was refused'} (`brandctl accounts connect`)",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def _no_webhook(name: str) -> CallProblem:
    return CallProblem(
        "account.request_not_allowed",
        f"{name} has no signing secret: give it other credentials with `brandctl accounts connect`",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _credentials_missing(name: str) -> CallProblem:
    return CallProblem(
        "credentials.key_missing",
        f"give the credentials of {name} again: they are kept only where kind and address stay as they are",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
