-- Pieces of work that a dead letter was about, or that were asked for once more by a new command: their end is reported to the monitor.
create table awaited_work (
    work_id    uuid        primary key,
    awaited_at timestamptz not null default clock_timestamp()
);
create index awaited_work_by_age on awaited_work (awaited_at);

-- Which command a target has carried out last, and when that was answered: what was sent before it is done as well.
create table done_publications (
    content_id  uuid        not null references content on delete cascade,
    target      text        not null,
    command_id  uuid        not null,
    answered_at timestamptz not null,
    primary key (content_id, target)
);
