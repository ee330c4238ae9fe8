-- Every message that died, and what became of it. The body is kept as the bytes it was, whatever they are.
create table dead_messages (
    -- One death of one message; given by the runtime, the same for every delivery of it.
    id uuid primary key,
    -- The dead message's own; null if its body is no envelope.
    event_id uuid,
    queue text not null,
    type text,
    source text,
    correlation_id text,
    payload bytea not null,
    headers jsonb not null,
    reason text not null,
    exception_type text,
    detail text not null,
    stack text,
    -- Where it failed, out of the stack: with queue, reason and exception type, what like failures have in common.
    frame text,
    attempts integer not null,
    service text,
    first_failed_at timestamptz,
    failed_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    -- Whether its body is an envelope that can be sent again at all.
    replayable boolean not null,
    state text not null check (state in ('open', 'replaying', 'resolved', 'discarded')),
    replayed_at timestamptz,
    replay_event_id uuid unique,
    -- The earlier death, where this is a replay that died in its turn.
    replay_of uuid references dead_messages (id) on delete set null,
    resolution text,
    resolved_at timestamptz,
    check ((replay_event_id is null) = (replayed_at is null)),
    check (state <> 'open' or replay_event_id is null),
    check (state <> 'replaying' or replay_event_id is not null),
    check ((state in ('resolved', 'discarded')) = (resolution is not null and resolved_at is not null))
);
create index dead_messages_newest on dead_messages (recorded_at desc, id desc);
create index dead_messages_newest_by_state on dead_messages (state, recorded_at desc, id desc);
create index dead_messages_event_id on dead_messages (event_id);
create index dead_messages_correlation_id on dead_messages (correlation_id);
create index dead_messages_replay_of on dead_messages (replay_of) where replay_of is not null;

-- Word from consumers that a replay was handled. Kept, because it may arrive before the death it settles.
create table handled_replays (
    replay_event_id uuid primary key,
    dead_event_id uuid not null,
    queue text not null,
    handled_at timestamptz not null default now()
);
create index handled_replays_dead_event_id on handled_replays (dead_event_id);
