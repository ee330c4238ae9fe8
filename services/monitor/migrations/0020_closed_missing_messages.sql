-- A missing message that an operator has looked into. It stays missing: if it turns up after all, it is counted as any other.
alter table ledger_messages add column closed_at timestamptz;
alter table ledger_messages add column closed_by text;
alter table ledger_messages add column closed_why text;
