-- outside a transaction
-- Version N+1 finds an effect again. Not unique: that would hide what happened twice.
create index concurrently if not exists effects_by_event_id on effects (event_id);
