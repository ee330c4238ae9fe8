-- Decisions of operators about all dead letters that match: carried out in steps, by whichever replica comes to it.
create table dead_letter_operations (
    id         uuid        primary key,
    verb       text        not null check (verb in ('replay', 'discard', 'restore')),
    -- The filter, as it was asked for.
    selection  jsonb       not null,
    -- Only those that matched then.
    until      timestamptz not null,
    -- The brands that its operator may see; null: all.
    brands     text[],
    reason     text,
    operator   text,
    -- How many matched when it began.
    total      integer     not null,
    decided    integer     not null default 0,
    -- Whether there are no more to decide about; then only replays are waited for.
    is_decided boolean     not null default false,
    -- Of its replays: handled by their consumers, and dead again.
    handled    integer     not null default 0,
    came_back  integer     not null default 0,
    state      text        not null check (state in ('running', 'done', 'stopped', 'failed')),
    problem    text,
    stopped_by text,
    started_at timestamptz not null default clock_timestamp(),
    ended_at   timestamptz,
    check ((state = 'running') = (ended_at is null))
);
create index dead_letter_operations_running on dead_letter_operations (started_at) where state = 'running';
create index dead_letter_operations_newest on dead_letter_operations (started_at desc, id desc);

-- Replays whose outcome is not known yet.
create table dead_letter_operation_replays (
    operation_id   uuid        not null references dead_letter_operations (id) on delete cascade,
    dead_letter_id uuid        not null,
    replayed_at    timestamptz not null default clock_timestamp(),
    primary key (operation_id, dead_letter_id)
);
