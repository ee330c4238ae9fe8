-- The chain that a message belongs to, for the list of messages. Null: it names none, or ended before this migration.
alter table processed_events
    -- Its correlation id, which is a UUID if a service of ours began the chain: a third of the cost of a text. Of another text: its digest.
    add column chain uuid,
    -- That text; null for a UUID.
    add column correlation_id text;
