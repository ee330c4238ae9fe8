-- outside a transaction
create index concurrently if not exists cycles_to_tell on cycles (cycle_id) where ended_at is not null and told_at is null;
