"""The accounts there are: those that an operator has connected, and those of the environment."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import SecretStr

from chassis import Connections, redaction
from gateway.credentials import store
from gateway.credentials.domain import Account, Described, key_end
from gateway.credentials.keyring import Keyring
from gateway.problems import Problem, ProblemError


class Accounts:
    """Reads an account each time it is asked for: a new key counts from the next request on, on every replica.

    Args:
        connections: of the gateway's database.
        keyring: what keys are sealed with.
        environment: accounts of the settings; one that an operator connects under the same name takes its place.
    """

    def __init__(
        self, connections: Connections, keyring: Keyring, environment: Iterable[Account] = ()
    ) -> None:
        self._connections = connections
        self._keyring = keyring
        self._environment = {account.name: account for account in environment}
        self._learned: set[str] = set()

    async def find(self, name: str) -> Account:
        """The account with its key.

        Raises:
            ProblemError: `provider.not_connected`, or its key cannot be opened.
        """
        async with self._connections.connection() as connection:
            rows = await store.rows(connection, name)
        if rows:
            return self._opened(rows[0])
        if name in self._environment:
            return self._environment[name]
        raise ProblemError(not_connected(name))

    async def first_of(self, kinds: Sequence[str]) -> Account:
        """The first account by kind, in the order given, and by name.

        Raises:
            ProblemError: `provider.not_connected`, or its key cannot be opened.
        """

        def first(known: Sequence[Described]) -> str | None:
            return next((each.name for kind in kinds for each in known if each.kind == kind), None)

        account = await self.chosen(first)
        if account is None:
            raise ProblemError(not_connected(" or ".join(kinds)))
        return account

    async def chosen(self, choose: Callable[[Sequence[Described]], str | None]) -> Account | None:
        """The account, with its key, whose name is chosen among all that there are, by name.

        Raises:
            ProblemError: its key cannot be opened.
        """
        rows = {row.name: row for row in await self._rows()}
        name = choose(self._described(rows.values()))
        if name is None:
            return None
        return self._opened(rows[name]) if name in rows else self._environment[name]

    async def renewed(self, account: Account, problem: Problem) -> Account | None:
        """The account with a new key, if the one it was asked with was refused and replaced meanwhile; else None."""
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

    async def described(self) -> list[Described]:
        """Every account without its key, by name."""
        return self._described(await self._rows())

    async def _rows(self) -> list[store.Row]:
        async with self._connections.connection() as connection:
            return await store.rows(connection)

    def _described(self, rows: Iterable[store.Row]) -> list[Described]:
        found = {
            name: Described(
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
            row.name: Described(
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

    async def connect(self, name: str, kind: str, settings: Mapping[str, Any], key: SecretStr | None) -> None:
        """Connects an account, or changes it. Without a key, the one that it has is kept if it stays where it is.

        Raises:
            ProblemError: `credentials.key_missing`: it would be sent elsewhere than it was given for.
        """
        sealed = None if key is None else self._keyring.seal(name, key.get_secret_value())
        async with self._connections.connection() as connection, connection.transaction():
            await store.lock(connection, name)
            known = next(iter(await store.rows(connection, name)), None)
            if sealed is None and known is not None and known.sealed is not None:
                if (known.kind, known.settings.get("url")) != (kind, settings.get("url")):
                    raise ProblemError(_key_missing(name))
                await store.set_settings(connection, name, settings)
                return
            end = None if key is None else key_end(key.get_secret_value())
            await store.put(connection, name, kind, settings, sealed, end)

    async def disconnect(self, name: str) -> None:
        """Raises ProblemError: `provider.not_connected`."""
        async with self._connections.connection() as connection:
            if not await store.remove(connection, name):
                raise ProblemError(not_connected(name, HTTPStatus.NOT_FOUND))

    async def seal_anew(self) -> int:
        """Seals every key with the first of the ring, while requests go on; returns how many there are.

        Raises:
            ProblemError: one of them cannot be opened; those before it are done.
        """
        done = 0
        async with self._connections.connection() as connection:
            for row in await store.rows(connection):
                if row.sealed is not None:
                    anew = self._keyring.seal_anew(row.name, row.sealed)
                    await store.replace_sealed(connection, row.name, row.sealed, anew)
                    done += 1
        return done

    def _opened(self, row: store.Row) -> Account:
        key = None if row.sealed is None else self._keyring.open(row.name, row.sealed)
        if key is not None and (secret := key.get_secret_value()) not in self._learned:
            redaction.learn(secret)
            self._learned.add(secret)
        return Account(row.name, row.kind, row.settings, key)


def not_connected(name: str, status: HTTPStatus = HTTPStatus.FAILED_DEPENDENCY) -> Problem:
    return Problem(
        "provider.not_connected",
        f"{name} is not connected: `brandctl providers connect` does it, `brandctl providers list` shows what is",
        status,
    )


def _key_missing(name: str) -> Problem:
    return Problem(
        "credentials.key_missing",
        f"give the key of {name} again: it is kept only where kind and address stay as they are",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
