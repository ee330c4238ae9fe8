-- Which messages each process has in its handlers, written every few seconds while one is there for longer than that. A row whose
-- seen_at is old is of a process that has died, or that has no way to its database.
create table running_messages (
    -- Of the process, new at each start.
    process    uuid        primary key,
    host       text        not null,
    pid        integer     not null,
    started_at timestamptz not null default now(),
    seen_at    timestamptz not null default now(),
    messages   jsonb       not null
);
