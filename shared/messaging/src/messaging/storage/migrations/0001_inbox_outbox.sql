-- The inbox: one row per message with a final outcome. Partitioned by the time inside UUIDv7, which is the key
-- itself, so that old rows leave by dropping a partition. Foreign UUIDs land in the default partition.
create table processed_events (
    event_id uuid not null,
    type text not null,
    queue text not null,
    outcome text not null check (outcome in ('handled', 'dead')),
    processed_at timestamptz not null default now(),
    primary key (event_id)
) partition by range (event_id);

create table processed_events_default partition of processed_events default;
create index processed_events_default_processed_at on processed_events_default (processed_at);

-- The outbox: every message that is to leave, now or later, retries included. Rows are deleted once confirmed.
create table outbox (
    id uuid primary key,
    exchange text not null,
    routing_key text not null,
    event_id uuid not null,
    type text not null,
    correlation_id text,
    body bytea not null,
    headers json not null,
    deliver_at timestamptz not null,
    -- When it may be taken next: deliver_at at first, then the end of the lease of whoever is publishing it.
    due_at timestamptz not null,
    lease uuid,
    publish_attempts integer not null default 0,
    last_error text,
    created_at timestamptz not null default now()
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index outbox_due_at on outbox (due_at);

-- Messages that are being handled after a redelivery: a row that is still here when the message comes back means
-- that its consumer did not live to tell.
create table crash_markers (
    queue text not null,
    event_id uuid not null,
    starts integer not null,
    started_at timestamptz not null default now(),
    primary key (queue, event_id)
);
