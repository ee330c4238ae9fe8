-- That an operator opened it again after a discard: when, who, and why.
alter table dead_messages add column restored_at timestamptz;
alter table dead_messages add column restored_by text;
alter table dead_messages add column restored_why text;
