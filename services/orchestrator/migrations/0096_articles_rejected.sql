-- outside a transaction
-- A brand's articles that were rejected, the latest first, page by page.
create index concurrently if not exists content_rejected_by_brand on content ((brand_slug || ''), content_id)
where taken_down_at is null and decision = 'rejected';
