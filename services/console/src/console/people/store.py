"""People, invitations and recovery codes in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from console.people.domain import Person, Role
from console.sealing import PasswordCost

COLUMNS: Final = "id, name, role, brands, language, zone, key_id, created_at, signed_in_at, password_sealed <> '' as has_password"


class NameTakenError(Exception):
    """Another person has the name."""


@dataclass(frozen=True, slots=True)
class PasswordLock:
    """The person's own key, sealed by the password."""

    salt: bytes
    cost: str
    sealed: bytes


NO_PASSWORD: Final = PasswordLock(b"no password", PasswordCost().written(), b"")
"""Nothing opens it."""


@dataclass(frozen=True, slots=True)
class Invitation:
    token_hash: bytes
    person: UUID | None
    """Whose password it sets anew; None: it makes a person."""
    name: str
    role: Role
    brands: frozenset[str] | None
    key_id: str
    sealed_key: bytes
    invited_by: str
    created_at: datetime
    expires_at: datetime


def person_of(row: Any) -> Person:
    brands = row["brands"]
    return Person(
        id=row["id"],
        name=row["name"],
        role=Role(row["role"]),
        brands=None if brands is None else frozenset(brands),
        language=row["language"],
        zone=row["zone"],
        key_id=row["key_id"],
        created_at=row["created_at"],
        signed_in_at=row["signed_in_at"],
        has_password=row["has_password"],
    )


async def find_person(connection: Connection, person: UUID) -> Person | None:
    row = await connection.fetchrow(f"select {COLUMNS} from people where id = $1", person)
    return None if row is None else person_of(row)


async def find_by_name(connection: Connection, name: str) -> Person | None:
    row = await connection.fetchrow(f"select {COLUMNS} from people where lower(name) = lower($1)", name)
    return None if row is None else person_of(row)


async def find_lock(connection: Connection, person: UUID) -> PasswordLock | None:
    """Finds how a person's password seals their own key; None for a person who has no password, and for nobody."""
    row = await connection.fetchrow(
        "select password_salt, password_cost, password_sealed from people where id = $1 and password_sealed <> ''",
        person,
    )
    return None if row is None else PasswordLock(row[0], row[1], row[2])


async def find_sealed_key(connection: Connection, person: UUID) -> bytes | None:
    sealed: bytes | None = await connection.fetchval("select sealed_key from people where id = $1", person)
    return sealed


async def list_people(connection: Connection) -> list[Person]:
    rows = await connection.fetch(f"select {COLUMNS} from people order by lower(name) limit 10000")
    return [person_of(row) for row in rows]


async def insert_person(
    connection: Connection,
    person: UUID,
    *,
    name: str,
    role: Role,
    brands: frozenset[str] | None,
    language: str,
    zone: str,
    key_id: str,
    sealed_key: bytes,
    lock: PasswordLock,
) -> Person:
    """Raises NameTakenError."""
    try:
        async with connection.transaction():
            row = await connection.fetchrow(
                "insert into people (id, name, role, brands, language, zone, key_id, sealed_key, password_salt, password_cost, password_sealed)"
                f" values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning {COLUMNS}",
                person,
                name,
                role.value,
                None if brands is None else sorted(brands),
                language,
                zone,
                key_id,
                sealed_key,
                lock.salt,
                lock.cost,
                lock.sealed,
            )
    except asyncpg.UniqueViolationError as error:
        raise NameTakenError(f"another person is called “{name}”") from error
    return person_of(row)


async def reset_person(
    connection: Connection, person: UUID, *, key_id: str, sealed_key: bytes, lock: PasswordLock
) -> Person | None:
    """Gives a person another key and password; ends all sessions, recovery codes, passkeys and the identity. None: there is no such person."""
    await connection.execute("delete from sessions where person = $1", person)
    await connection.execute("delete from recovery_codes where person = $1", person)
    # Sealed by, or sealing, the former own key.
    await connection.execute("delete from passkeys where person = $1", person)
    await connection.execute("delete from identities where person = $1", person)
    await connection.execute("delete from done_once where person = $1", person)
    row = await connection.fetchrow(
        "update people set key_id = $2, sealed_key = $3, password_salt = $4, password_cost = $5, password_sealed = $6"
        f" where id = $1 returning {COLUMNS}",
        person,
        key_id,
        sealed_key,
        lock.salt,
        lock.cost,
        lock.sealed,
    )
    return None if row is None else person_of(row)


async def set_lock(connection: Connection, person: UUID, lock: PasswordLock) -> None:
    await connection.execute(
        "update people set password_salt = $2, password_cost = $3, password_sealed = $4 where id = $1",
        person,
        lock.salt,
        lock.cost,
        lock.sealed,
    )


async def set_profile(connection: Connection, person: UUID, *, name: str, language: str, zone: str) -> None:
    """Raises NameTakenError."""
    try:
        async with connection.transaction():
            await connection.execute(
                "update people set name = $2, language = $3, zone = $4 where id = $1",
                person,
                name,
                language,
                zone,
            )
    except asyncpg.UniqueViolationError as error:
        raise NameTakenError(f"another person is called “{name}”") from error


async def delete_person(connection: Connection, person: UUID) -> bool:
    """Removes a person with all sessions, codes and unused resets, and notes the key; returns whether there was one."""
    removed = await connection.fetchval(
        "with removed as (delete from people where id = $1 returning key_id)"
        " insert into keys_to_revoke (key_id) select key_id from removed on conflict (key_id) do update set key_id = excluded.key_id"
        " returning true",
        person,
    )
    return removed is True


async def count_owners(connection: Connection) -> int:
    """Counts and locks the owners, so that two removals at once do not leave none."""
    rows = await connection.fetch("select id from people where role = 'owner' order by id for update")
    return len(rows)


async def insert_invitation(
    connection: Connection,
    token_hash: bytes,
    *,
    person: UUID | None,
    name: str,
    role: Role,
    brands: frozenset[str] | None,
    key_id: str,
    sealed_key: bytes,
    invited_by: str,
    expires_at: datetime,
) -> None:
    await connection.execute(
        "insert into invitations (token_hash, person, name, role, brands, key_id, sealed_key, invited_by, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        token_hash,
        person,
        name,
        role.value,
        None if brands is None else sorted(brands),
        key_id,
        sealed_key,
        invited_by,
        expires_at,
    )


def _invitation(row: Any) -> Invitation:
    brands = row["brands"]
    return Invitation(
        token_hash=row["token_hash"],
        person=row["person"],
        name=row["name"],
        role=Role(row["role"]),
        brands=None if brands is None else frozenset(brands),
        key_id=row["key_id"],
        sealed_key=row["sealed_key"],
        invited_by=row["invited_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


async def find_invitation(connection: Connection, token_hash: bytes) -> Invitation | None:
    """Finds an invitation that is still good."""
    row = await connection.fetchrow(
        "select * from invitations where token_hash = $1 and expires_at > now()", token_hash
    )
    return None if row is None else _invitation(row)


async def take_invitation(connection: Connection, token_hash: bytes) -> Invitation | None:
    """Removes an invitation that is still good, so that it works once."""
    row = await connection.fetchrow(
        "delete from invitations where token_hash = $1 and expires_at > now() returning *", token_hash
    )
    return None if row is None else _invitation(row)


async def empty_expired_invitations(connection: Connection) -> None:
    """Removes the sealed keys of unaccepted invitations; the ids stay until an owner has revoked the keys."""
    await connection.execute(
        "update invitations set sealed_key = '' where expires_at < now() and sealed_key <> ''"
    )


async def list_keys_to_revoke(connection: Connection) -> list[str]:
    """Lists the public ids of keys of removed people and unaccepted invitations."""
    rows = await connection.fetch(
        "select key_id from keys_to_revoke union select key_id from invitations where expires_at < now() limit 100"
    )
    return [row[0] for row in rows]


async def forget_revoked_key(connection: Connection, key_id: str) -> None:
    await connection.execute("delete from keys_to_revoke where key_id = $1", key_id)
    await connection.execute("delete from invitations where key_id = $1 and expires_at < now()", key_id)


async def withdraw_invitation(connection: Connection, key_id: str) -> None:
    """Ends an invitation at once; its key is then one to revoke."""
    await connection.execute(
        "update invitations set expires_at = least(expires_at, now() - interval '1 second'), sealed_key = ''"
        " where key_id = $1",
        key_id,
    )


async def list_invitations(connection: Connection) -> list[Invitation]:
    """Lists the open ones, and those that ended unused with keys still to be revoked."""
    rows = await connection.fetch("select * from invitations order by created_at desc limit 1000")
    return [_invitation(row) for row in rows]


async def replace_recovery_codes(
    connection: Connection, person: UUID, sealed: Sequence[tuple[bytes, bytes]]
) -> None:
    """Stores new codes as pairs of hash and sealed key; the former ones end."""
    await connection.execute("delete from recovery_codes where person = $1", person)
    await connection.executemany(
        "insert into recovery_codes (code_hash, person, sealed) values ($1, $2, $3)",
        [(code_hash, person, each) for code_hash, each in sealed],
    )


async def take_recovery_code(connection: Connection, person: UUID, code_hash: bytes) -> bytes | None:
    """Marks a code as used and returns what it seals; None if it is unknown or used."""
    row = await connection.fetchrow(
        "with taken as (select code_hash, sealed from recovery_codes where code_hash = $1 and person = $2 and used_at is null for update)"
        " update recovery_codes r set used_at = now(), sealed = '' from taken where r.code_hash = taken.code_hash returning taken.sealed",
        code_hash,
        person,
    )
    return None if row is None else row["sealed"]


async def count_recovery_codes(connection: Connection, person: UUID) -> int:
    left: int = await connection.fetchval(
        "select count(*) from recovery_codes where person = $1 and used_at is null", person
    )
    return left
