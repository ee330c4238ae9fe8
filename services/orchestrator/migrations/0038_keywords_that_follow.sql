-- outside a transaction
create index concurrently if not exists keywords_following on keywords (cycle_id) where follows;
