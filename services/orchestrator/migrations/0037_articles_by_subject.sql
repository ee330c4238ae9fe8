-- outside a transaction
create index concurrently if not exists content_by_subject on content (brand_slug, subject);
