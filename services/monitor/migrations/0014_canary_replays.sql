-- Replays of a failure group in steps: one, then ten, then the rest; each step waits until the one before is handled.
create table canary_replays (
    id uuid primary key,
    failure_group text not null,
    -- The brands that its operator may see; null: all.
    brands text[],
    reason text,
    operator text,
    -- How many were open when it began.
    total integer not null,
    -- How many steps have begun.
    step smallint not null default 0,
    state text not null check (state in ('running', 'done', 'came_back', 'silent', 'stopped')),
    started_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    -- The dead letter of the first replay that failed in the same way.
    came_back uuid,
    stopped_by text,
    check ((state = 'running') = (ended_at is null)),
    check ((state = 'came_back') = (came_back is not null))
);
create unique index canary_replays_running on canary_replays (failure_group) where state = 'running';
create index canary_replays_newest on canary_replays (started_at desc, id desc);

-- The dead letters that it has replayed.
create table canary_replay_letters (
    canary_id uuid not null references canary_replays (id) on delete cascade,
    dead_letter_id uuid not null,
    -- Whether it is known what became of its replay.
    is_settled boolean not null default false,
    primary key (canary_id, dead_letter_id)
);
create index canary_replay_letters_waiting on canary_replay_letters (canary_id) where not is_settled;
