"""Gives the stored subjects of every brand their keys, when the database is brought up to date."""

from typing import Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.subjects.keying import key_articles, key_what_has_none, load_names, move_claims
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.naming import SubjectNames
from orchestrator.subjects.rekeying import (
    OVERLAP,
    find_brands_by_other_rules,
    find_moved_claims,
    note_rules,
    rekey_articles,
    rekey_waiting_keywords,
)

BATCH: Final = 1_000
"""Articles that get their keys in one transaction, under their brand's lock: some tens of milliseconds."""
_NO_LIMIT: Final = 2**31 - 1


async def backfill_keys(database_url: str, *, batch: int = BATCH) -> None:
    """Goes on where it was interrupted; with nothing to do, it reads one index, and the rules of each brand.

    Replicas at work do the same for a brand before they decide about its keywords: nothing depends on when this is done, but how
    long the first decision after an upgrade takes.

    Raises:
        OSError: the server is away, has ended the connection, or refuses.
    """
    connection = await asyncpg.connect(database_url, timeout=15)
    try:
        slugs = await connection.fetch("select slug from brands order by slug")
        for row in slugs:
            while await _key_some(connection, row["slug"], batch) == batch:
                pass
        for slug in await find_brands_by_other_rules(connection):
            await _rekey_brand(connection, slug, batch)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise ConnectionError(
            f"the keys of subjects are not filled in yet ({error}); run migrate again"
        ) from error
    finally:
        await connection.close()


async def _key_some(connection: Connection, slug: str, batch: int) -> int:
    async with connection.transaction():
        await connection.execute("select from brands where slug = $1 for no key update", slug)
        names = await load_names(connection, [slug])
        keyed = await key_articles(connection, names, limit=batch)
        if keyed < batch:
            await key_what_has_none(connection, names)
    return keyed


async def _rekey_brand(connection: Connection, slug: str, batch: int) -> None:
    """Ends early once a replica at work has done it. What it has changed before an interruption is not written again."""
    began_at = await connection.fetchval("select now()")
    language: str | None = None
    article: UUID | None = UUID(int=0)
    while article is not None:
        async with connection.transaction():
            if (names := await _hold_if_due(connection, slug)) is None:
                return
            language = language or names.language
            article = await rekey_articles(connection, slug, names, after=article, limit=batch)
    # What is claimed under another key is found without a lock, and moved at once: a claim may take the place of another that moves.
    moved: set[SubjectKey] = set()
    names = (await load_names(connection, [slug])).get(slug)
    claim: str | None = "" if names is not None else None
    while claim is not None and names is not None:
        found, claim = await find_moved_claims(connection, slug, names, after=claim, limit=batch)
        moved |= found
    async with connection.transaction():
        if (names := await _hold_if_due(connection, slug)) is None or names.language != language:
            return
        recent, _ = await find_moved_claims(
            connection, slug, names, since=began_at - OVERLAP, limit=_NO_LIMIT
        )
        await rekey_waiting_keywords(connection, slug, names)
        await move_claims(connection, slug, names, sorted(moved | recent))
        await note_rules(connection, slug, names.language, began_at)


async def _hold_if_due(connection: Connection, slug: str) -> SubjectNames | None:
    """Locks the brand; None if it is gone, or its keys are of these rules by now."""
    await connection.execute("select from brands where slug = $1 for no key update", slug)
    if not await find_brands_by_other_rules(connection, [slug]):
        return None
    return (await load_names(connection, [slug]))[slug]
