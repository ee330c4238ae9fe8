-- outside a transaction
-- Published articles that have changed since a time.
create index concurrently if not exists content_by_change on content (updated_at) where published_url is not null;
