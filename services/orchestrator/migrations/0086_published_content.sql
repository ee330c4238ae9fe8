-- outside a transaction
-- A brand's published articles, to be counted.
create index concurrently if not exists content_published on content (brand_slug) where published_url is not null and taken_down_at is null;
