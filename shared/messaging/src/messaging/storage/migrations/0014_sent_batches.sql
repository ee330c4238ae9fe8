-- Which messages the broker has taken from this service, for the ledger: a row for all messages of one write with the same route. Rows
-- are added as those of the outbox are deleted, and kept for two days.
create table sent_batches (
    -- Of this service; with the time, the order in which they are read.
    id          bigint      generated always as identity,
    sent_at     timestamptz not null default clock_timestamp(),
    exchange    text        not null,
    routing_key text        not null,
    event_ids   uuid[]      not null,
    primary key (sent_at, id)
);
