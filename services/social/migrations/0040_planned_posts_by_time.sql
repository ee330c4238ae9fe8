-- outside a transaction
-- Planned posts of all channels by their time.
create index concurrently if not exists channel_posts_planned on channel_posts (due_at) where state = 'planned';
