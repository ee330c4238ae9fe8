-- outside a transaction
-- A keyword of a cycle, found with its place without a look at its row, in cycles of any length.
create unique index concurrently if not exists keywords_by_name on keywords (cycle_id, keyword) include (position);
