-- outside a transaction
-- The keywords of a cycle by their state, with their spelling: lists and counts with a filter read no rows of others.
create index concurrently if not exists keywords_by_state on keywords (cycle_id, state, position) include (keyword);
