-- outside a transaction
-- Planned posts that are held back.
create index concurrently if not exists channel_posts_held on channel_posts (held_until) where state = 'planned' and held_until is not null;
