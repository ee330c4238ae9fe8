-- Requests in a minute; null: as the scopes of the key have it.
alter table api_keys add column per_minute int;

-- How much of the running minute of each key the replicas have taken, to spend it by themselves.
create table api_key_minutes (
    key_id text        primary key,
    minute timestamptz not null,
    -- What the replica was given that asked last.
    share  int         not null,
    taken  int         not null
);
