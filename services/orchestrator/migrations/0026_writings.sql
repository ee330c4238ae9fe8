-- How the writing of an article goes: which command is carried out, who has it in hand, what went wrong, and what a person did
-- about it. One row for each article, whatever happens to it.
create table writings (
    content_id     uuid        primary key,
    -- The `content.generate` that is carried out, or was last.
    event_id       uuid        not null,
    -- Under which its writer keeps its steps: its own id, or that of the command with which it goes on.
    steps_id       uuid        not null,
    -- Of an article that is written again.
    revision       int,
    -- Of this command: as the queue counts attempts, which leaves waits out; and how often it was begun. 0: not yet.
    attempt        int         not null default 0,
    starts         int         not null default 0,
    first_begun_at timestamptz,
    begun_at       timestamptz,
    -- Until then no other command for the article is begun. Null: it is put down.
    in_hand_until  timestamptz,
    -- Over what the latest attempt failed, and when, if none will follow.
    problem        text,
    failed_at      timestamptz,
    retries        int         not null default 0,
    retried_at     timestamptz,
    retried_by     text,
    cancelled_at   timestamptz,
    cancelled_by   text,
    changed_at     timestamptz not null default clock_timestamp()
);
create index writings_by_age on writings (changed_at);

-- When the work on a step began; null of those from before.
alter table workflow_steps add column begun_at timestamptz;
