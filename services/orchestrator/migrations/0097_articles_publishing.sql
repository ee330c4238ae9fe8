-- outside a transaction
-- A brand's articles that are being published, the latest first, page by page.
create index concurrently if not exists content_publishing_by_brand on content ((brand_slug || ''), content_id)
where taken_down_at is null and decision is distinct from 'rejected' and held_for = '{}' and published_url is null;
