-- Who asked for a replay or a discard, as they called themselves, and why.
alter table dead_messages add column decided_by text;
alter table dead_messages add column decided_why text;
