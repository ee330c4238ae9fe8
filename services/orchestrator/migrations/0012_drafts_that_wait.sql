-- outside a transaction
create index concurrently if not exists content_waiting on content (brand_slug, content_id)
    where (held_for <> '{}' and decision is distinct from 'rejected') or offered_version is not null;
