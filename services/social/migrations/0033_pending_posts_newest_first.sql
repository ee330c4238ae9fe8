-- outside a transaction
-- A brand's posts under review, the newest first.
create index concurrently if not exists pending_posts_newest_first
    on pending_posts (brand_slug, coalesce(publish_at, since), post_id) where state <> 'posted';
