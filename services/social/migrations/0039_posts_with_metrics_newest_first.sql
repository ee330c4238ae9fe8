-- outside a transaction
-- A brand's posts with metrics, the newest first.
create index concurrently if not exists channel_posts_with_metrics on channel_posts (brand_slug, number) where has_metrics;
