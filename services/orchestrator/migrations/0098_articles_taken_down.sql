-- outside a transaction
-- A brand's articles that were taken down, the latest first, page by page.
create index concurrently if not exists content_taken_down_by_brand on content ((brand_slug || ''), content_id)
where taken_down_at is not null;
