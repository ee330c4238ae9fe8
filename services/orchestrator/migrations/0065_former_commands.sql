-- The commands for the same article, and the same revision of it, that the one in event_id replaces. Their dead letters are settled with its success.
alter table writings add column former_ids uuid[] not null default '{}';
