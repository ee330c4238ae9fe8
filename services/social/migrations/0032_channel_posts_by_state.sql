-- outside a transaction
-- A brand's posts in one state, the newest first.
create index concurrently if not exists channel_posts_by_state
    on channel_posts (brand_slug, state, coalesce(posted_at, due_at, since), post_id);
