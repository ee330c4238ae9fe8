"""Slows wrong passwords by account and network, so that a stranger's failures do not lock the account's person out.

Failures count for the pair of account and network, and for the account from all networks that its person has not signed in from.
"""

import hashlib
from datetime import datetime
from typing import Final

from chassis import Connection

_FREE_FOR_PAIR: Final = 5
_FREE_FOR_NETWORK: Final = 40
_FREE_FOR_ACCOUNT: Final = 30
_LONGEST_SECONDS: Final = 900


def _account(name: str) -> str:
    return hashlib.sha256(name.lower().encode()).hexdigest()


def _subjects(name: str, network: str, *, is_known: bool) -> list[tuple[str, str, int]]:
    account = _account(name)
    found = [("pair", f"{account} {network}", _FREE_FOR_PAIR)]
    if not is_known:
        found += [("network", network, _FREE_FOR_NETWORK), ("account", account, _FREE_FOR_ACCOUNT)]
    return found


def _of_network(network: str) -> list[tuple[str, str, int]]:
    return [("provider", network, _FREE_FOR_NETWORK)]


async def is_known_network(connection: Connection, name: str, network: str) -> bool:
    """Returns whether the person of the name has signed in from the network in the last 90 days."""
    return bool(
        await connection.fetchval(
            "select exists (select from known_networks k join people p on p.id = k.person"
            " where lower(p.name) = lower($1) and k.network = $2 and k.seen_at > now() - interval '90 days')",
            name,
            network,
        )
    )


async def blocked_until(connection: Connection, name: str, network: str) -> datetime | None:
    """Returns until when a sign-in has to wait; None: it may be tried now."""
    known = await is_known_network(connection, name, network)
    return await _blocked_until(connection, _subjects(name, network, is_known=known))


async def is_network_blocked(connection: Connection, network: str) -> bool:
    """Returns whether too many sign-ins from the network failed, for all names together."""
    return await _blocked_until(connection, _of_network(network)) is not None


async def _blocked_until(connection: Connection, subjects: list[tuple[str, str, int]]) -> datetime | None:
    until: datetime | None = await connection.fetchval(
        "select max(blocked_until) from sign_in_failures f join unnest($1::text[], $2::text[]) as s (kind, subject)"
        " using (kind, subject) where blocked_until > now()",
        [kind for kind, _, _ in subjects],
        [subject for _, subject, _ in subjects],
    )
    return until


async def note_failure(connection: Connection, name: str, network: str) -> None:
    """Counts a wrong password; beyond the free ones each doubles the wait, up to a quarter of an hour."""
    known = await is_known_network(connection, name, network)
    await _note(connection, _subjects(name, network, is_known=known))


async def note_network_failure(connection: Connection, network: str) -> None:
    """Counts a failure that has no account, such as a sign-in at the provider."""
    await _note(connection, _of_network(network))


async def _note(connection: Connection, subjects: list[tuple[str, str, int]]) -> None:
    for kind, subject, free in subjects:
        await connection.execute(
            "insert into sign_in_failures as f (kind, subject, failures, last_at, blocked_until)"
            " values ($1, $2, 1, now(), now())"
            " on conflict (kind, subject) do update set last_at = now(),"
            " failures = case when f.last_at < now() - interval '1 hour' then 1 else f.failures + 1 end,"
            " blocked_until = now() + case when f.failures + 1 <= $3 then interval '0'"
            " else least(power(2, least(f.failures + 1 - $3, 12)), $4) * interval '1 second' end",
            kind,
            subject,
            free,
            _LONGEST_SECONDS,
        )


async def note_success(connection: Connection, person: object, name: str, network: str) -> None:
    """Forgets the failures of the person from this network, which is known from now on."""
    await connection.execute(
        "delete from sign_in_failures where kind = 'pair' and subject = $1", f"{_account(name)} {network}"
    )
    await connection.execute(
        "insert into known_networks (person, network) values ($1, $2)"
        " on conflict (person, network) do update set seen_at = now()",
        person,
        network,
    )


async def forget_old(connection: Connection) -> None:
    await connection.execute("delete from sign_in_failures where last_at < now() - interval '1 day'")
    await connection.execute("delete from known_networks where seen_at < now() - interval '90 days'")
