-- What the tree of a chain and its line of time need of messages that have ended.
--
-- The message whose handling sent this one. Null: none did, or it ended before this migration. An eighth column is the last one that a row
-- has without eight bytes more, so that attempts have a table of their own.
alter table processed_events add column caused_by uuid;

-- Attempts that failed, that followed on a failure, or whose handler ran for a second or more. All others took one short attempt.
create table message_attempts (
    event_id   uuid        not null,
    attempt    integer     not null,
    -- Null: the handler works on batches, or did not run.
    began_at   timestamptz,
    ended_at   timestamptz not null,
    outcome    text        not null check (outcome in ('handled', 'retried', 'waiting', 'dead')),
    -- The type of the exception, or what the message waits for.
    reason     text,
    -- When the message may be tried again.
    next_at    timestamptz,
    -- How often it waited for something that was away, as the same attempt.
    waits      integer     not null default 0,
    primary key (event_id, attempt)
);
create index message_attempts_by_end on message_attempts (ended_at);
