create table dead_messages (
    id uuid primary key,
    -- The order of recording, for paging.
    number bigint generated always as identity unique,
    -- The dead message's own id; null when its body is no envelope.
    event_id uuid,
    queue text not null,
    type text,
    source text,
    correlation_id text,
    payload bytea not null,
    headers json not null,
    reason text not null,
    exception_type text,
    detail text not null,
    stack text,
    -- The innermost frame of the stack: with queue, reason and exception it says "the same failure".
    frame text,
    attempts integer not null,
    service text,
    first_failed_at timestamptz,
    failed_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    state text not null default 'open'
        check (state in ('open', 'replaying', 'resolved', 'superseded', 'discarded')),
    replay_of uuid,
    replay_event_id uuid,
    replayed_at timestamptz,
    resolution text,
    resolved_at timestamptz
);
create index dead_messages_open on dead_messages (number) where state = 'open';
create index dead_messages_event_id on dead_messages (event_id);
create index dead_messages_correlation_id on dead_messages (correlation_id);
create index dead_messages_replay_event_id on dead_messages (replay_event_id) where replay_event_id is not null;
