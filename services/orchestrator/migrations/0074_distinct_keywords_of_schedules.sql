-- Those of the keywords of a schedule that are subjects of their own. By keyword, not by place: a replica of the version before
-- replaces the keywords and leaves this column as it is.
alter table schedules add column distinct_keywords text[] not null default '{}';
