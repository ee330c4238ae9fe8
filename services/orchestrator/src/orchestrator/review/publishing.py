"""Puts a version in force and publishes it. The caller must hold the article's row lock."""

from chassis.observing.traces import TraceHeaders
from envelope.brand.payloads import ContentGenerated, ContentPublish
from messaging import Transaction
from orchestrator.article_workflow import (
    Version,
    VersionText,
    find_free_address,
    find_version,
    record_former_address,
    set_current_version,
)
from orchestrator.brands import find_brand
from orchestrator.cycles import KeywordRow, load_keywords
from orchestrator.placements import set_home
from orchestrator.review import domain, store
from orchestrator.review.domain import ReviewedDraft
from writing.body import prose_of
from writing.quality import fingerprint


async def put_version_in_force(
    tx: Transaction, draft: ReviewedDraft, chosen: Version, own: frozenset[int]
) -> None:
    """Puts a version of a locked article in force, and publishes it; `own` is its fingerprint."""
    address = await _settled(tx, draft, chosen.text.slug)
    label = domain.seen_by_a_person(chosen.text.label)
    approved = chosen.text.model_copy(update={"slug": address, "label": label})
    await set_current_version(tx.connection, draft.content_id, chosen.version, approved, own)
    await store.set_approved(tx.connection, draft.content_id)
    await _send_on_its_way(tx, draft, chosen.word_count)


async def publish(tx: Transaction, draft: ReviewedDraft) -> None:
    """Asks the publisher to update the page to the article's state at that time; further targets follow."""
    row = next(iter(await load_keywords(tx.connection, [], [draft.content_id])), None)
    brand = await find_brand(tx.connection, draft.brand_slug)
    assert brand is not None
    home = brand.target if row is None else row.facts.target
    await set_home(tx, draft.content_id, home)
    tx.send(
        ContentPublish(brand_slug=draft.brand_slug, content_id=draft.content_id, target=home),
        correlation_id=None if row is None else row.correlation_id,
        trace=_trace_of(tx, row),
    )


def _trace_of(tx: Transaction, row: KeywordRow | None) -> TraceHeaders | None:
    """The trace of the deciding request; for a scheduled publication, that of the keyword."""
    return None if row is None else tx.trace_under_way(row.correlation_id) or row.trace


def fingerprint_of(text: VersionText) -> frozenset[int]:
    """The fingerprint that detects near-duplicates; slow."""
    return fingerprint(prose_of(text.body_markdown))


async def _send_on_its_way(tx: Transaction, draft: ReviewedDraft, word_count: int) -> None:
    """Sends the article's event to the router; or a command to the publisher, if the keyword is past writing or unknown."""
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


async def _settled(tx: Transaction, draft: ReviewedDraft, wanted: str) -> str:
    """The address of an approved article; an existing page keeps its address unless another is wanted."""
    if not draft.is_approved and draft.published_url is None:
        return await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted)
    standing = await find_version(tx.connection, draft.content_id, draft.stands)
    if standing is not None and standing.text.slug == wanted:
        return draft.address
    address = await find_free_address(tx.connection, draft.brand_slug, draft.content_id, wanted)
    if address != draft.address:
        await record_former_address(tx.connection, draft.brand_slug, draft.content_id, draft.address, address)
    return address
