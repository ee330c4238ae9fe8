"""Passkeys and challenges in the database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from console.passkeys.ceremonies import NewPasskey

CHALLENGE_GOOD_FOR: Final = timedelta(minutes=10)
MOST_PASSKEYS: Final = 20


@dataclass(frozen=True, slots=True)
class PasskeyEntry:
    """A passkey as its person sees it."""

    id: UUID
    name: str
    created_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredPasskey:
    id: UUID
    person: UUID
    public_key: bytes
    sign_count: int
    sealed: bytes
    """The person's own key."""


async def insert_challenge(connection: Connection, challenge: bytes, person: UUID | None) -> None:
    await connection.execute(
        "insert into passkey_challenges (challenge, person) values ($1, $2)", challenge, person
    )


async def take_challenge(connection: Connection, challenge: bytes, person: UUID | None) -> bool:
    """Removes a challenge, so that an answer counts once; returns whether it was still good."""
    taken = await connection.fetchval(
        "delete from passkey_challenges where challenge = $1 and person is not distinct from $2"
        " returning made_at > now() - $3::interval",
        challenge,
        person,
        CHALLENGE_GOOD_FOR,
    )
    return taken is True


async def forget_old_challenges(connection: Connection) -> None:
    await connection.execute(
        "delete from passkey_challenges where made_at < now() - $1::interval", CHALLENGE_GOOD_FOR
    )


async def insert_passkey(
    connection: Connection, person: UUID, name: str, passkey: NewPasskey, sealed: bytes
) -> bool:
    """Returns False if the passkey is known already."""
    inserted = await connection.fetchval(
        "insert into passkeys (person, name, credential_id, public_key, sign_count, sealed)"
        " values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning true",
        person,
        name,
        passkey.credential_id,
        passkey.public_key,
        passkey.sign_count,
        sealed,
    )
    return inserted is True


async def list_passkeys(connection: Connection, person: UUID) -> list[PasskeyEntry]:
    rows = await connection.fetch(
        "select id, name, created_at, used_at from passkeys where person = $1 order by created_at", person
    )
    return [PasskeyEntry(*row) for row in rows]


async def list_credential_ids(connection: Connection, person: UUID) -> list[bytes]:
    rows = await connection.fetch("select credential_id from passkeys where person = $1", person)
    return [row[0] for row in rows]


async def find_passkey(connection: Connection, credential_id: bytes) -> StoredPasskey | None:
    """Finds a passkey, and locks it until the end of the transaction."""
    row = await connection.fetchrow(
        "select id, person, public_key, sign_count, sealed from passkeys where credential_id = $1 for update",
        credential_id,
    )
    return None if row is None else StoredPasskey(*row)


async def note_use(connection: Connection, passkey: UUID, sign_count: int) -> None:
    await connection.execute(
        "update passkeys set sign_count = $2, used_at = now() where id = $1", passkey, sign_count
    )


async def rename_passkey(connection: Connection, person: UUID, passkey: UUID, name: str) -> None:
    await connection.execute(
        "update passkeys set name = $3 where id = $2 and person = $1", person, passkey, name
    )


async def delete_passkey(connection: Connection, person: UUID, passkey: UUID) -> None:
    await connection.execute("delete from passkeys where id = $2 and person = $1", person, passkey)
