-- Messages that a process has had from the broker for some seconds, and whose handlers have not begun.
alter table running_messages add column held uuid[] not null default '{}';
