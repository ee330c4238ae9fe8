-- outside a transaction
-- When a person last looked at a brand's drafts.
create index concurrently if not exists content_by_review on content (brand_slug, reviewed_at) where reviewed_at is not null;
