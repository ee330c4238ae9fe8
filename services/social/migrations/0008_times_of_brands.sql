-- outside a transaction
create index concurrently if not exists channel_posts_calendar on channel_posts (brand_slug, (coalesce(posted_at, due_at)));
