-- outside a transaction
create index concurrently if not exists keywords_in_turn on keywords (cycle_id, state, rank, moved_at, position)
    where awaits_turn;
