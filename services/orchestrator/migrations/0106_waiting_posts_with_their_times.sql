-- outside a transaction
-- The keywords with posts that wait, with the time since when: counted over all brands without a look at their rows.
create index concurrently if not exists keywords_with_waiting_posts_since on keywords (cycle_id) include (moved_at)
    where jsonb_path_exists(posts, '$[*] ? (@.url == null && @.reason starts with "needs_review")');
