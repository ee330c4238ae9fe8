"""Commands to the publisher: bring an article to a target, or withdraw it."""

from collections.abc import Collection
from uuid import UUID

from envelope.brand.payloads import ContentPublish
from messaging import Transaction
from orchestrator.brands import BUILT_IN_SITE
from orchestrator.placements import store
from orchestrator.placements.store import ArticlePlacements


async def set_home(tx: Transaction, content_id: UUID, home: str) -> None:
    """Makes this target the article's home; its answers then concern the article itself."""
    await store.forget(tx.connection, content_id, home)


async def withdraw(tx: Transaction, content_id: UUID, *, deleting: bool = False) -> None:
    """Withdraws an article from its further targets.

    Before a deletion, withdraws it from its home, too, unless that is the built-in site, which gets a command of its own.
    """
    placed = (await store.find_placed(tx.connection, [content_id])).get(content_id)
    if placed is None:
        return
    targets = await store.note_withdrawn(tx.connection, content_id)
    if deleting:
        home = [placed.home] if placed.published_url is not None else []
        targets = [target for target in (*home, *targets) if target != BUILT_IN_SITE]
    for target in targets:
        _send(tx, placed, target)


async def ask(tx: Transaction, placed: ArticlePlacements, target: str, *, overwrite: bool) -> None:
    """Updates one target, the home or another, to the current state of a locked article."""
    content_id = placed.content_id
    if target != placed.home:
        if placed.taken_down:
            await store.note_withdrawn(tx.connection, content_id, target)
        else:
            await store.note_asked(tx.connection, content_id, [target], as_of=None, again=True)
    _send(tx, placed, target, overwrite=overwrite)


async def update_all_targets(tx: Transaction, content_ids: Collection[UUID]) -> set[UUID]:
    """Updates all targets of articles, withdrawals included; returns the ids of the stored articles.

    Skips drafts that were never published.
    """
    found = await store.find_placed(tx.connection, content_ids, locked=True)
    asked = await store.targets_of(tx.connection, found)
    for content_id, placed in found.items():
        if placed.published_url is None and placed.waits:
            continue
        _send(tx, placed, placed.home)
        for target in asked.get(content_id, ()):
            if target != placed.home:
                _send(tx, placed, target)
    return set(found)


def _send(tx: Transaction, placed: ArticlePlacements, target: str, *, overwrite: bool = False) -> None:
    tx.send(
        ContentPublish(
            brand_slug=placed.brand_slug,
            content_id=placed.content_id,
            target=target,
            canonical_url=None if target == placed.home else placed.published_url,
            overwrite=overwrite,
        ),
        correlation_id=placed.correlation_id,
    )
