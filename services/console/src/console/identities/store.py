"""Identities in the database: the person behind each account of the provider, and that person's sealed key."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from chassis import Connection


class IdentityTakenError(Exception):
    """The identity belongs to another person."""


@dataclass(frozen=True, slots=True)
class Identity:
    person: UUID
    sealed: bytes
    """The person's own key."""


@dataclass(frozen=True, slots=True)
class IdentityUse:
    linked_at: datetime
    used_at: datetime | None
    """When the person last signed in with it."""


async def find_identity(connection: Connection, issuer: str, subject: str) -> Identity | None:
    row = await connection.fetchrow(
        "update identities set used_at = now() where issuer = $1 and subject = $2 returning person, sealed",
        issuer,
        subject,
    )
    return None if row is None else Identity(row["person"], row["sealed"])


async def put_identity(
    connection: Connection, person: UUID, issuer: str, subject: str, sealed: bytes
) -> None:
    """Gives a person an identity in place of the former one. Raises IdentityTakenError."""
    try:
        async with connection.transaction():
            await connection.execute(
                "insert into identities (person, issuer, subject, sealed) values ($1, $2, $3, $4)"
                " on conflict (person) do update set issuer = $2, subject = $3, sealed = $4, created_at = now()",
                person,
                issuer,
                subject,
                sealed,
            )
    except asyncpg.UniqueViolationError as error:
        raise IdentityTakenError from error


async def find_use(connection: Connection, person: UUID) -> IdentityUse | None:
    """When a person's identity was linked and used; None without one."""
    row = await connection.fetchrow("select created_at, used_at from identities where person = $1", person)
    return None if row is None else IdentityUse(row["created_at"], row["used_at"])


async def remove_identity(connection: Connection, person: UUID) -> None:
    await connection.execute("delete from identities where person = $1", person)
