-- outside a transaction
-- Keywords that have moved since a time: what came of them lately is counted without those of long ago.
create index concurrently if not exists keywords_by_move on keywords (moved_at);
