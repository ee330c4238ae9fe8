-- outside a transaction
create index concurrently if not exists content_by_subject_key on content (brand_slug, subject_key);
