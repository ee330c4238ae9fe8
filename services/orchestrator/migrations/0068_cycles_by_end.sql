-- outside a transaction
-- Cycles whose keywords may have moved since a time are those that have not ended, and those that have ended since.
create index concurrently if not exists cycles_by_end on cycles (ended_at);
