-- Whether articles that stand on the keywords of a schedule are written anew.
alter table schedules add column refresh boolean not null default false;
