"""How a version of an article comes to stand, and the page to show it. Whoever decides holds the article's row lock."""

from dataclasses import replace

from chassis.observing.traces import TraceHeaders
from envelope.brand.payloads import ContentGenerated, ContentPublish
from messaging import Transaction
from orchestrator.brands import find_brand
from orchestrator.cycles import KeywordRow, load_keywords
from orchestrator.placements import placed_as
from orchestrator.review import domain, store
from orchestrator.review.domain import Draft
from orchestrator.writing import (
    ArticleText,
    Version,
    find_free_address,
    find_version,
    fingerprint,
    prose_of,
    record_former_address,
    set_current_version,
)


async def let_stand(tx: Transaction, draft: Draft, chosen: Version, own: frozenset[int]) -> None:
    """Makes a version of an article, which is locked, the one that stands, and sends it on its way; `own` is its fingerprint."""
    address = await _settled(tx, draft, chosen.text.slug)
    approved = replace(chosen.text, slug=address, label=domain.seen_by_a_person(chosen.text.label))
    await set_current_version(tx.connection, draft.content_id, chosen.version, approved, own)
    await store.set_approved(tx.connection, draft.content_id)
    await _send_on_its_way(tx, draft, chosen.word_count)


async def publish(tx: Transaction, draft: Draft) -> None:
    """Has the publisher bring the page up to date with the article, whatever that says by then; further targets follow."""
    row = next(iter(await load_keywords(tx.connection, [], [draft.content_id])), None)
    brand = await find_brand(tx.connection, draft.brand_slug)
    assert brand is not None
    home = brand.target if row is None else row.facts.target
    await placed_as(tx, draft.content_id, home)
    tx.send(
        ContentPublish(brand_slug=draft.brand_slug, content_id=draft.content_id, target=home),
        correlation_id=None if row is None else row.correlation_id,
        trace=_trace_of(tx, row),
    )


def _trace_of(tx: Transaction, row: KeywordRow | None) -> TraceHeaders | None:
    """That of the request that decides; that of the keyword, where its time has come and nobody asks."""
    return None if row is None else tx.trace_under_way(row.correlation_id) or row.trace


def fingerprint_of(text: ArticleText) -> frozenset[int]:
    """What tells near-duplicates; takes a while."""
    return fingerprint(prose_of(text.body_markdown))


async def _send_on_its_way(tx: Transaction, draft: Draft, word_count: int) -> None:
    """Tells the router that the article is there; or the publisher, if the router is past that or knows no keyword of it."""
    row = next(iter(await load_keywords(tx.connection, [], [draft.content_id])), None)
    if row is not None and not row.facts.generated and not draft.is_approved:
        generated = ContentGenerated(
            brand_slug=draft.brand_slug,
            content_id=draft.content_id,
            keyword=draft.keyword,
            word_count=word_count,
        )
        tx.send(generated, correlation_id=row.correlation_id, trace=_trace_of(tx, row))
        return
    await publish(tx, draft)


async def _settled(tx: Transaction, draft: Draft, wanted: str) -> str:
    """The address an approved article gets; a page that has one moves only if another is asked for."""
    if not draft.is_approved and draft.published_url is None:
        return await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted)
    standing = await find_version(tx.connection, draft.content_id, draft.stands)
    if standing is not None and standing.text.slug == wanted:
        return draft.address
    address = await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted)
    if address != draft.address:
        await record_former_address(tx.connection, draft.brand_slug, draft.content_id, draft.address, address)
    return address
