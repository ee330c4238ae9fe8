-- outside a transaction
-- A keyword is looked up by its spelling over all cycles.
create index concurrently if not exists keywords_by_spelling on keywords (lower(keyword));
