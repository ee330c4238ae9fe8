-- Every event of the system, in the order in which it was stored. One partition for each day (UTC), so that a day is forgotten at once.
create table events (
    -- Rises by one; no transaction commits a lower one after a higher one (see log_head).
    position       bigint      not null,
    recorded_at    timestamptz not null,
    event_id       uuid        not null,
    type           text        not null,
    source         text        not null,
    brand_slug     text,
    correlation_id text,
    causation_id   uuid,
    happened_at    timestamptz not null,
    payload        json        not null
) partition by range (recorded_at);
-- The types and brands stand in the index, so that looking for few among many reads no row.
create index events_in_order on events (position) include (type, brand_slug, recorded_at);
create index events_of_brand on events (brand_slug, position) include (type, recorded_at);
create index events_of_chain on events (correlation_id, position) include (type, brand_slug, recorded_at);
-- What comes before its day has a partition.
create table events_default partition of events default;

-- One row. Whoever stores events locks it until the commit, so that positions become visible in their order.
create table log_head (
    only_row  boolean primary key default true check (only_row),
    -- Of the newest event.
    position  bigint  not null default 0,
    -- Events up to here are forgotten.
    forgotten bigint  not null default 0
);
insert into log_head default values;
