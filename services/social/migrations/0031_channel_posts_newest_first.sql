-- outside a transaction
-- A brand's posts, the newest first: the next page is read, and not the whole brand.
create index concurrently if not exists channel_posts_newest_first
    on channel_posts (brand_slug, coalesce(posted_at, due_at, since), post_id);
