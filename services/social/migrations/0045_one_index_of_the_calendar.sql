-- outside a transaction
-- contract: no statement of this version or the one before names its expression; others serve the least brand.
drop index concurrently if exists channel_posts_calendar;
