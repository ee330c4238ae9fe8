-- How far the record of each sender has been read, for each queue.
create table ledger_sources (
    sender      text        not null,
    queue       text        not null,
    -- `next` of the sender's last page; null: from the beginning.
    place       text,
    -- Everything sent before that is counted.
    read_until  timestamptz,
    -- When the youngest message was sent that its consumer has handled.
    done_until  timestamptz,
    primary key (sender, queue)
);

-- The services that it asks, as they answered last.
create table ledger_services (
    name        text        primary key,
    -- Since when it does not answer, and why; null: it does.
    away_since  timestamptz,
    problem     text,
    -- Whether it records what it sends.
    is_recorded boolean     not null default true
);

-- One row: when the next round is due, on whichever replica is first.
create table ledger_rounds (
    only_row boolean     primary key default true check (only_row),
    due_at   timestamptz not null
);

-- How many messages were sent in an hour, and how many of them are done. All others are in ledger_messages.
create table ledger_counts (
    hour     timestamptz not null,
    sender   text        not null,
    queue    text        not null,
    accepted bigint      not null,
    done     bigint      not null,
    primary key (hour, sender, queue)
);

-- The messages that are not done.
create table ledger_messages (
    event_id       uuid        not null,
    queue          text        not null,
    sender         text        not null,
    type           text        not null,
    correlation_id text,
    sent_at        timestamptz not null,
    -- How often its sender has sent it.
    sends          int         not null default 1,
    state          text        not null check (state in ('under_way', 'dead_letter', 'discarded', 'missing')),
    -- Where it is, or, if it is missing, where it was last.
    place          text        not null,
    -- When it may leave that place, or since when it is there.
    place_at       timestamptz,
    -- Until when it was somewhere for sure.
    known_at       timestamptz not null,
    -- Since when the queue is seen empty.
    absent_since   timestamptz,
    missing_since  timestamptz,
    checked_at     timestamptz not null default clock_timestamp(),
    check ((state = 'missing') = (missing_since is not null)),
    primary key (event_id, queue)
);
create index ledger_messages_to_check on ledger_messages (queue, checked_at) where state in ('under_way', 'missing');
create index ledger_messages_dead on ledger_messages (checked_at) where state in ('dead_letter', 'discarded');
create index ledger_messages_by_time on ledger_messages (sent_at, event_id);

-- Dead letters that were removed with their brand: those messages have ended.
create table removed_dead_letters (
    event_id   uuid        not null,
    queue      text        not null,
    removed_at timestamptz not null default clock_timestamp(),
    primary key (event_id, queue)
);
create index removed_dead_letters_by_age on removed_dead_letters (removed_at);
