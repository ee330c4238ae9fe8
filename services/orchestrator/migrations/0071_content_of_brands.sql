-- outside a transaction
-- A brand's articles, the latest first, page by page.
create index concurrently if not exists content_of_brands on content (brand_slug, content_id);
