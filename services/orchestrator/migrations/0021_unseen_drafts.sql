-- outside a transaction
create index concurrently if not exists content_unseen on content (brand_slug, coalesce(waits_since, created_at))
    where held_for <> '{}' and decision is null;
