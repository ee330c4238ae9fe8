-- Of the keywords of a schedule that have another priority than the schedule: {"cold brew": "high"}. By keyword, not by place: a
-- replica of the version before replaces the keywords and leaves this column as it is.
alter table schedules add column priorities jsonb not null default '{}';
