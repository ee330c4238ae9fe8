-- outside a transaction
create index concurrently if not exists keywords_with_waiting_posts on keywords (cycle_id)
    where jsonb_path_exists(posts, '$[*] ? (@.url == null && @.reason starts with "needs_review")');
