-- outside a transaction
-- A brand's posts in the feed on all channels, the newest first.
create index concurrently if not exists posts_of_brands on posts (brand_slug, posted_at, post_id);
