"""Gives the stored subjects of every brand their keys, when the database is brought up to date."""

from typing import Final

import asyncpg

from chassis import Connection
from orchestrator.subjects.keying import key_articles, key_what_has_none, load_names

BATCH: Final = 1_000
"""Articles that get their keys in one transaction, under their brand's lock: some tens of milliseconds."""


async def backfill_keys(database_url: str, *, batch: int = BATCH) -> None:
    """Goes on where it was interrupted; with nothing to do, it reads one index.

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
