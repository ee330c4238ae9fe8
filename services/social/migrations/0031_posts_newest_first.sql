-- outside a transaction
-- A brand's posts, the newest first, in any state or in one: the next page is read, and not the whole brand.
create index concurrently if not exists channel_posts_newest_first
    on channel_posts (brand_slug, coalesce(posted_at, due_at, since), post_id);
create index concurrently if not exists channel_posts_by_state
    on channel_posts (brand_slug, state, coalesce(posted_at, due_at, since), post_id);
create index concurrently if not exists pending_posts_newest_first
    on pending_posts (brand_slug, coalesce(publish_at, since), post_id) where state <> 'posted';
create index concurrently if not exists posts_of_brands on posts (brand_slug, posted_at, post_id);
