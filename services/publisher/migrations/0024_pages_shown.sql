-- outside a transaction
-- A site's visible pages, to be counted.
create index concurrently if not exists pages_shown on pages (brand_slug) where taken_down_at is null;
