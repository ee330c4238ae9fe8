-- outside a transaction
-- Counts the posts of a day without their rows: of an expression, PostgreSQL reads the index alone only if it has the columns too.
create index concurrently if not exists channel_posts_in_the_calendar
    on channel_posts (brand_slug, (coalesce(posted_at, due_at, since)), post_id) include (posted_at, due_at, since)
    where state not in ('new', 'waiting', 'rejected') and coalesce(posted_at, due_at) is not null;
