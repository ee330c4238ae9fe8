"""Provider accounts: those that operators connected, and those from environment variables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import SecretStr

from chassis import Connections, redaction
from gateway.credentials import store
from gateway.credentials.domain import ProviderAccount, ProviderAccountSummary, key_end
from gateway.credentials.keyring import Keyring
from gateway.problems import CallProblem, CallProblemError


class ProviderAccounts:
    """Reads an account from the database for each request, so a new key applies at once on every replica.

    Args:
        connections: of the gateway's database.
        keyring: encrypts and decrypts the keys.
        environment: accounts from settings; a connected account of the same name replaces one.
    """

    def __init__(
        self, connections: Connections, keyring: Keyring, environment: Iterable[ProviderAccount] = ()
    ) -> None:
        self._connections = connections
        self._keyring = keyring
        self._environment = {account.name: account for account in environment}
        self._learned: set[str] = set()

    async def find(self, name: str) -> ProviderAccount:
        """Returns the account with its key.

        Raises:
            CallProblemError: `provider.not_connected`, or the key cannot be opened.
        """
        async with self._connections.connection() as connection:
            rows = await store.rows(connection, name)
        if rows:
            return self._opened(rows[0])
        if name in self._environment:
            return self._environment[name]
        raise CallProblemError(not_connected(name))

    async def first_of(self, kinds: Sequence[str]) -> ProviderAccount:
        """Returns the first account of the first kind that has one, by name.

        Raises:
            CallProblemError: `provider.not_connected`, or the key cannot be opened.
        """

        def first(known: Sequence[ProviderAccountSummary]) -> str | None:
            return next((each.name for kind in kinds for each in known if each.kind == kind), None)

        account = await self.chosen(first)
        if account is None:
            raise CallProblemError(not_connected(" or ".join(kinds)))
        return account

    async def chosen(
        self, choose: Callable[[Sequence[ProviderAccountSummary]], str | None]
    ) -> ProviderAccount | None:
        """Returns the account, with its key, that `choose` names; it gets all accounts.

        Raises:
            CallProblemError: the key cannot be opened.
        """
        rows = {row.name: row for row in await self._rows()}
        name = choose(self._described(rows.values()))
        if name is None:
            return None
        return self._opened(rows[name]) if name in rows else self._environment[name]

    async def renewed(self, account: ProviderAccount, problem: CallProblem) -> ProviderAccount | None:
        """Returns the account with its new key, if `problem` says that the key was refused and it was replaced since."""
        if problem.type != "provider.key_refused":
            return None
        now = await self.find(account.name)
        if (
            now.key is None
            or now.key == account.key
            or now.settings.get("url") != account.settings.get("url")
        ):
            return None
        return now

    async def described(self) -> list[ProviderAccountSummary]:
        """All accounts without their keys, by name."""
        return self._described(await self._rows())

    async def _rows(self) -> list[store.CredentialRow]:
        async with self._connections.connection() as connection:
            return await store.rows(connection)

    def _described(self, rows: Iterable[store.CredentialRow]) -> list[ProviderAccountSummary]:
        found = {
            name: ProviderAccountSummary(
                name,
                account.kind,
                account.settings,
                account.key is not None,
                None if account.key is None else key_end(account.key.get_secret_value()),
                None,
                from_environment=True,
            )
            for name, account in self._environment.items()
        } | {
            row.name: ProviderAccountSummary(
                row.name,
                row.kind,
                row.settings,
                row.sealed is not None,
                row.key_end,
                row.key_set_at,
                from_environment=False,
            )
            for row in rows
        }
        return [found[name] for name in sorted(found)]

    async def connect(
        self,
        name: str,
        kind: str,
        settings: Mapping[str, Any],
        key: SecretStr | None,
        *,
        by_operator: bool = True,
    ) -> None:
        """Connects or changes an account. Without a key, it keeps the present one if kind and address are unchanged.

        Args:
            name: of the account.
            kind: of the provider.
            settings: with its address.
            key: of the account.
            by_operator: whether the operator gave the address, now or before.

        Raises:
            CallProblemError: `credentials.key_missing`: the present key belongs to another address.
        """
        sealed = None if key is None else self._keyring.seal(name, key.get_secret_value())
        async with self._connections.connection() as connection, connection.transaction():
            await store.lock(connection, name)
            known = next(iter(await store.rows(connection, name)), None)
            if sealed is None and known is not None and known.sealed is not None:
                if (known.kind, known.settings.get("url")) != (kind, settings.get("url")):
                    raise CallProblemError(_key_missing(name))
                await store.set_settings(connection, name, settings)
                return
            end = None if key is None else key_end(key.get_secret_value())
            await store.put(connection, name, kind, settings, sealed, end, address_of_operator=by_operator)

    async def is_of_operator(self, name: str, url: str) -> bool:
        """Returns whether the operator gave the account this address, by the environment or with the service key."""
        async with self._connections.connection() as connection:
            known = next(iter(await store.rows(connection, name)), None)
        if known is not None:
            return known.address_of_operator and known.settings.get("url") == url
        return name in self._environment and self._environment[name].settings.get("url") == url

    async def disconnect(self, name: str) -> None:
        """Raises CallProblemError: `provider.not_connected`."""
        async with self._connections.connection() as connection:
            if not await store.remove(connection, name):
                raise CallProblemError(not_connected(name, HTTPStatus.NOT_FOUND))

    async def reseal(self) -> int:
        """Re-encrypts every key with the first of the ring; returns their number. Requests continue meanwhile.

        Raises:
            CallProblemError: one key cannot be opened; the earlier ones are done.
        """
        done = 0
        async with self._connections.connection() as connection:
            for row in await store.rows(connection):
                if row.sealed is not None:
                    anew = self._keyring.reseal(row.name, row.sealed)
                    await store.replace_sealed(connection, row.name, row.sealed, anew)
                    done += 1
        return done

    def _opened(self, row: store.CredentialRow) -> ProviderAccount:
        key = None if row.sealed is None else self._keyring.open(row.name, row.sealed)
        if key is not None and (secret := key.get_secret_value()) not in self._learned:
            redaction.learn(secret)
            self._learned.add(secret)
        return ProviderAccount(row.name, row.kind, row.settings, key, row.address_of_operator)


def not_connected(name: str, status: HTTPStatus = HTTPStatus.FAILED_DEPENDENCY) -> CallProblem:
    return CallProblem(
        "provider.not_connected",
        f"{name} is not connected: `brandctl providers connect` does it, `brandctl providers list` shows what is",
        status,
    )


def _key_missing(name: str) -> CallProblem:
    return CallProblem(
        "credentials.key_missing",
        f"give the key of {name} again: it is kept only where kind and address stay as they are",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
