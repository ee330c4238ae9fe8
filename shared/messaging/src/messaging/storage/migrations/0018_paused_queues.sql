-- Queues whose consumers an operator has paused: every process reads them every few seconds, and at its start.
create table paused_queues (
    queue     text        primary key,
    paused_by text        not null,
    reason    text        not null,
    paused_at timestamptz not null default clock_timestamp()
);
