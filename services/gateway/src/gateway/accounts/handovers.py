"""Hands the accounts of a moving brand over from one installation to another: encrypted, once, and never used by both.

The former installation takes them out of use in the transaction that encrypts them, as an erasure does; an administrator can restore them there for a
week. Accounts that other brands use too stay there.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

import structlog
from pydantic import SecretStr

from chassis import Connection, Connections
from gateway.accounts import store
from gateway.accounts.handover_seal import HandoverSeal, WrongSealError
from gateway.accounts.kinds import KINDS
from gateway.accounts.registry import SEALED_AS, AccountRegistry, checked_settings, validated
from gateway.credentials import Keyring
from gateway.problems import CallProblem, CallProblemError

log = structlog.get_logger(__name__)

_ARRIVAL: Final = "arrival "
"""Prefix of the sealed name of a hand-over's private key."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A hand-over at the receiving side. `arrived` are names of accounts; they are complete if `has_ended`."""

    move_id: UUID
    brand: str
    public_key: bytes
    arrived: Sequence[str]
    has_ended: bool


class AccountHandovers:
    """Both sides of a hand-over.

    Args:
        key: `MOVES_KEY`; None: this installation neither hands accounts over nor takes any.
    """

    def __init__(
        self, connections: Connections, keyring: Keyring, registry: AccountRegistry, key: SecretStr | None
    ) -> None:
        self._connections = connections
        self._keyring = keyring
        self._registry = registry
        self._key = key

    async def expect(self, move_id: UUID, brand: str) -> Arrival:
        """Makes the one-time key of a hand-over. A repeated call returns the same one.

        Raises:
            CallProblemError: `moves.no_key`, `moves.other_brand`, `credentials.no_keys`.
        """
        private, public = self._seal_of(move_id, brand).new_key()
        sealed = self._keyring.seal(f"{_ARRIVAL}{move_id}", base64.b64encode(private).decode())
        async with self._connections.connection() as connection, connection.transaction():
            await connection.execute(
                "insert into account_arrivals (move_id, brand_slug, public_key, sealed) values ($1, $2, $3, $4) on conflict do nothing",
                move_id,
                brand,
                public,
                sealed,
            )
            arrival, _ = await self._lock_arrival(connection, move_id, brand)
        return arrival

    async def hand_over(self, move_id: UUID, brand: str, public_key: bytes) -> tuple[bytes, list[str]]:
        """Takes the brand's own accounts out of use, and returns them encrypted, with their names. A repeated call encrypts the same ones anew.

        Raises:
            CallProblemError: `moves.no_key`; `moves.renewing`: a token is being renewed now; `moves.forgotten`: it was more than a
                week ago; `moves.sealed`: it is no public key.
        """
        seal = self._seal_of(move_id, brand)
        async with self._connections.connection() as connection, connection.transaction():
            if await connection.fetchval(
                "select exists (select from (select renewing_until from accounts where brands <@ array[$1] for update) as a"
                " where renewing_until > clock_timestamp())",
                brand,
            ):
                raise CallProblemError(_RENEWING)
            taken = await store.erase_once(connection, move_id, brand)
            rows = await connection.fetch(
                "select name, kind, settings, sealed, label, facts, scopes, expires_at from erased_accounts"
                " where erasure_id = $1 and brand_slug = $2 and sealed is not null order by name",
                move_id,
                brand,
            )
            if len(rows) < taken["accounts"]:
                raise CallProblemError(_FORGOTTEN)
            text = json.dumps([self._plain(row) for row in rows])
            try:
                sealed = seal.seal(public_key, text.encode())
            except WrongSealError as error:
                raise CallProblemError(_sealed(error)) from None
        names = [row["name"] for row in rows]
        log.warning("accounts_handed_over", brand=brand, move_id=str(move_id), accounts=names)
        return sealed, names

    def _plain(self, row: Any) -> dict[str, Any]:
        credentials = self._keyring.open(f"{SEALED_AS}{row['name']}", bytes(row["sealed"])).get_secret_value()
        return {
            "name": row["name"],
            "kind": row["kind"],
            "settings": json.loads(row["settings"]),
            "label": row["label"],
            "facts": json.loads(row["facts"]),
            "scopes": list(row["scopes"]),
            "expires_at": None if row["expires_at"] is None else row["expires_at"].isoformat(),
            "credentials": json.loads(credentials),
        }

    async def receive(self, move_id: UUID, brand: str, sealed: bytes) -> tuple[list[str], list[str]]:
        """Stores the accounts of a hand-over; returns their names, and those that another account has here.

        With such a name, none is stored and the same call may be repeated; otherwise the one-time key is deleted.

        Raises:
            CallProblemError: `moves.no_key`, `moves.unknown`, `moves.other_brand`; `moves.sealed`: it cannot be decrypted.
        """
        seal = self._seal_of(move_id, brand)
        async with self._connections.connection() as connection, connection.transaction():
            arrival, private = await self._lock_arrival(connection, move_id, brand)
            if private is None:
                return list(arrival.arrived), []
            try:
                accounts: list[dict[str, Any]] = json.loads(seal.open(private, sealed))
            except WrongSealError as error:
                raise CallProblemError(_sealed(error)) from None
            names = sorted(str(each["name"]) for each in accounts)
            for name in names:
                await store.lock(connection, name)
            taken = [name for name in names if await store.find(connection, name) is not None]
            if taken:
                return [], taken
            for each in accounts:
                await self._store(connection, brand, each)
            await connection.execute(
                "update account_arrivals set sealed = null, arrived = $2 where move_id = $1", move_id, names
            )
        log.warning("accounts_received", brand=brand, move_id=str(move_id), accounts=names)
        return names, []

    async def _store(self, connection: Connection, brand: str, given: Mapping[str, Any]) -> None:
        """Stores an account as it was; it is checked soon, as every new one."""
        kind = KINDS.get(given["kind"])
        if kind is None:
            raise CallProblemError(_unknown_kind(str(given["kind"])))
        try:
            settings = checked_settings(kind, given["settings"])
            credentials = validated(kind, given["credentials"])
        except ValueError as error:
            raise CallProblemError(_unusable(str(given["name"]), error)) from None
        setup = store.AccountSetup(given["name"], given["kind"], [brand], settings)
        await self._registry.put(connection, setup, credentials)
        expires_at = given["expires_at"]
        await connection.execute(
            "update accounts set label = $2, facts = $3::jsonb, scopes = $4, expires_at = $5 where name = $1",
            given["name"],
            given["label"],
            json.dumps(given["facts"]),
            given["scopes"],
            None if expires_at is None else datetime.fromisoformat(expires_at),
        )

    async def reseal(self) -> int:
        """Encrypts the one-time keys with the first key of the ring; returns their number."""
        async with self._connections.connection() as connection:
            rows = await connection.fetch(
                "select move_id, sealed from account_arrivals where sealed is not null"
            )
            for row in rows:
                anew = self._keyring.reseal(f"{_ARRIVAL}{row['move_id']}", bytes(row["sealed"]))
                await connection.execute(
                    "update account_arrivals set sealed = $3 where move_id = $1 and sealed = $2",
                    row["move_id"],
                    row["sealed"],
                    anew,
                )
        return len(rows)

    def _seal_of(self, move_id: UUID, brand: str) -> HandoverSeal:
        if self._key is None:
            raise CallProblemError(_NO_KEY)
        return HandoverSeal(self._key.get_secret_value(), move_id, brand)

    async def _lock_arrival(
        self, connection: Connection, move_id: UUID, brand: str
    ) -> tuple[Arrival, bytes | None]:
        """The hand-over with its private key; None once the accounts have arrived."""
        row = await connection.fetchrow(
            "select brand_slug, public_key, sealed, arrived from account_arrivals where move_id = $1 for update",
            move_id,
        )
        if row is None:
            raise CallProblemError(_UNKNOWN)
        if row["brand_slug"] != brand:
            raise CallProblemError(_OTHER_BRAND)
        private = None
        if row["sealed"] is not None:
            text = self._keyring.open(f"{_ARRIVAL}{move_id}", bytes(row["sealed"])).get_secret_value()
            private = base64.b64decode(text)
        found = Arrival(
            move_id, brand, bytes(row["public_key"]), tuple(row["arrived"]), has_ended=private is None
        )
        return found, private


_NO_KEY: Final = CallProblem(
    "moves.no_key",
    "this installation hands over no accounts: set the same MOVES_KEY at the gateways of both installations"
    " (`openssl rand -base64 32`)",
    HTTPStatus.FAILED_DEPENDENCY,
)
_RENEWING: Final = CallProblem(
    "moves.renewing", "a token of the brand is being renewed: repeat it in a minute", HTTPStatus.CONFLICT
)
_FORGOTTEN: Final = CallProblem(
    "moves.forgotten",
    "the accounts were handed over more than a week ago, or were restored here: connect them again",
    HTTPStatus.CONFLICT,
)
_OTHER_BRAND: Final = CallProblem("moves.other_brand", "the move is another brand's", HTTPStatus.CONFLICT)
_UNKNOWN: Final = CallProblem(
    "moves.unknown", "no accounts are expected of this move; ask for its key first", HTTPStatus.NOT_FOUND
)


def _sealed(error: WrongSealError) -> CallProblem:
    return CallProblem(
        "moves.sealed",
        f"the accounts cannot be taken over: {error}. Both gateways need the same MOVES_KEY",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _unknown_kind(kind: str) -> CallProblem:
    return CallProblem(
        "moves.unusable",
        f"this installation knows no accounts of the kind {kind[:40]}: update it",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _unusable(name: str, error: ValueError) -> CallProblem:
    return CallProblem(
        "moves.unusable", f"the account {name} does not fit here: {error}", HTTPStatus.UNPROCESSABLE_ENTITY
    )
