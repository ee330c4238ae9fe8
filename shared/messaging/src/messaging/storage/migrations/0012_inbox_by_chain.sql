-- contract: an index of a partitioned table cannot be made concurrently. No row of a version before has a chain, so that the
-- partitions are read once and nothing is sorted.
create index processed_events_by_chain on processed_events (chain, event_id) where chain is not null;
