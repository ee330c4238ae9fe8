-- The pieces of work that a dead message was about; null: recorded by a version that did not note them.
alter table dead_messages add column work_ids uuid[];
-- When its sender asked for them: of a replay, when the first of its line was sent.
alter table dead_messages add column asked_at timestamptz;

-- Pieces of work that a service has reported as done. Kept, because the report may arrive before the dead message.
create table finished_work (
    work_id       uuid        primary key,
    -- Messages about it that were sent until then are done with.
    covers_until  timestamptz not null,
    finished_at   timestamptz not null,
    -- The command that did it, where that is known.
    finished_by   uuid,
    noted_at      timestamptz not null default clock_timestamp()
);
create index finished_work_by_age on finished_work (noted_at);
